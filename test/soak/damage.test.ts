/**
 * A damaged state folder: each damage and the expected result. A start works, or names the file
 * and the remedy and changes nothing.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { terminal } from '../cli/terminal.ts'
import { ask, caller, newToken } from '../e2e/caller.ts'
import { type Running, folder, startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const PAGE = 4096
const root = folder()
/** The folders of a daemon that was stopped, and of one that was killed. */
const [ended, killed] = [join(root.path, 'ended'), join(root.path, 'killed')]
/** The account id of the killed daemon. */
let account = ''

function copyOf(t: TestContext, from: string): string {
  const to = join(freshFolder(t), 'state')
  cpSync(from, to, { recursive: true })
  chmodSync(to, 0o700)
  chmodSync(join(to, 'keychain'), 0o700)
  return to
}

async function populate(daemon: Running): Promise<string> {
  const { token } = await newToken(daemon.address)
  const call = caller(daemon.address, token)
  await call('POST /api/v1/guest-codes', { label: 'g' })
  await call('POST /api/v1/tags', { name: 't' })
  return (await call('GET /api/v1/context')).user.id as string
}

before(async () => {
  const left = async (dir: string, signal: 'SIGTERM' | 'SIGKILL') => {
    const daemon = await startDaemon(dir)
    const id = await populate(daemon)
    await daemon.end(signal)
    return id
  }
  ;[, account] = await Promise.all([left(ended, 'SIGTERM'), left(killed, 'SIGKILL')])
})
after(() => root.remove())

type Damage = (path: string) => void
/** The error of a start, or null if it works. */
type Must = { exit: keyof typeof EXIT; says: RegExp } | null

const cut =
  (to: (size: number) => number): Damage =>
  (path) =>
    truncateSync(path, Math.floor(to(statSync(path).size)))
const overwrite =
  (bytes: number): Damage =>
  (path) => {
    const content = readFileSync(path)
    content.fill('x', 0, Math.min(bytes, content.length))
    writeFileSync(path, content)
  }
const gone: Damage = (path) => rmSync(path)
const flip: Damage = (path) => {
  const content = readFileSync(path)
  content[content.length >> 1]! ^= 1
  writeFileSync(path, content)
}

const broken = (exit: keyof typeof EXIT, says: RegExp): Must => ({ exit, says })
const restore = broken('failed', /is (damaged|missing).*Restore the state folder from a backup/)

const cuts: [what: string, damage: Damage][] = [
  ['cut to nothing', cut(() => 0)],
  ['cut to one byte', cut(() => 1)],
  ['cut to its header', cut(() => 100)],
  ['cut to its first page', cut(() => PAGE)],
  ['cut to half', cut((size) => Math.floor(size / 2 / PAGE) * PAGE)],
  ['cut in the middle of a page', cut((size) => size - PAGE / 2)],
  ['without its last page', cut((size) => size - PAGE)],
  ['its header overwritten', overwrite(100)],
  ['overwritten', overwrite(1 << 30)],
  ['gone', gone],
]

const damages: [file: string, what: string, damage: Damage, must: Must][] = [
  ...['state.db', 'account.db'].flatMap((file) =>
    cuts.map(([what, damage]): (typeof damages)[number] => [file, what, damage, restore]),
  ),
  [
    'lock.db',
    'garbage',
    (path) => writeFileSync(path, 'x'.repeat(PAGE)),
    broken('failed', /contains no data.*delete it/),
  ],
  ['lock.db', 'cut to nothing', cut(() => 0), null],
  ['lock.db', 'gone', gone, null],
  ['runtime.json', 'garbage', (path) => writeFileSync(path, '{', { mode: 0o600 }), null],
  ['secret', 'cut to half', cut((size) => size / 2), broken('failed', /damaged.*delete the file/)],
  ['secret', 'cut to nothing', cut(() => 0), broken('failed', /damaged.*delete the file/)],
  ['secret', 'gone', gone, null],
  ['keychain.json', 'cut to nothing', cut(() => 0), broken('keychain', /damaged.*Restore it/)],
  [
    'keychain.json',
    'cut to half',
    cut((size) => Math.floor(size / 2)),
    broken('keychain', /damaged.*Restore it/),
  ],
  ['keychain.json', 'gone', gone, broken('keychain', /is missing.*Restore the file/)],
  [
    'keychain.key',
    'cut to half',
    cut((size) => Math.floor(size / 2)),
    broken('keychain', /(is not a key file|does not open)/),
  ],
  [
    'keychain.key',
    'another',
    (path) => writeFileSync(path, 'ab'.repeat(32)),
    broken('keychain', /does not open.*Put the right key back/),
  ],
  ['keychain.key', 'gone', gone, broken('keychain', /is missing.*Put it back/)],
]

/**
 * Returns digests of all files except those that any start writes: the lock, the audit log, and
 * SQLite’s side files if they are empty or hold nothing.
 */
const contents = (dir: string) =>
  Object.fromEntries(
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .filter((name) => !name.endsWith('-wal') || statSync(join(dir, name)).size > 0)
      .filter((name) => !/^(lock\.db|audit)|-shm$/.test(name) && statSync(join(dir, name)).isFile())
      .toSorted()
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(dir, name)))
          .digest('hex'),
      ]),
  )

const whoami = async (dir: string) => {
  const { code, out, err } = await terminal(dir)(['whoami', '--json'])
  return {
    code,
    err,
    account: code === EXIT.ok ? (JSON.parse(out).user?.id ?? JSON.parse(out).account_id) : null,
  }
}

describe('a folder of a daemon that stopped', () => {
  for (const [file, what, damage, must] of damages)
    it(`${file} ${what}: ${must === null ? 'works' : `exit code ${EXIT[must.exit]}`}`, async (t) => {
      const dir = copyOf(t, ended)
      const path = join(dir, file)
      damage(path)
      const found = contents(dir)
      const { code, err } = await whoami(dir)
      if (must === null) {
        assert.equal(code, EXIT.ok, err)
        return
      }
      assert.equal(code, EXIT[must.exit], err)
      assert.match(err, must.says)
      assert(err.includes(file), err)
      assert.equal(err.trimEnd().split('\n').length, 1, err)
      assert.deepEqual(contents(dir), found, 'what can still be saved is left as it is')
    })

  it('keeps its account', async (t) => {
    const dir = copyOf(t, ended)
    assert.match((await whoami(dir)).account, /^acc_/)
  })
})

describe('a folder of a daemon that was killed', () => {
  const logs: [what: string, damage: Damage][] = [
    ['cut to nothing', cut(() => 0)],
    ['cut to its header', cut(() => 32)],
    ['cut to half', cut((size) => size >> 1)],
    ['without its last byte', cut((size) => size - 1)],
    ['one bit wrong', flip],
    ['overwritten', overwrite(1 << 30)],
  ]
  for (const file of ['state.db-wal', 'account.db-wal'])
    for (const [what, damage] of logs)
      it(`${file} ${what}: the account as before, or an error that names the database`, async (t) => {
        const dir = copyOf(t, killed)
        const path = join(dir, file)
        assert(existsSync(path) && statSync(path).size > 0)
        damage(path)
        const { code, err, account: who } = await whoami(dir)
        if (code === EXIT.ok) assert.equal(who, account)
        else assert.match(err, /\.db.*Restore|sign/)
      })

  for (const file of ['state.db', 'account.db'])
    it(`${file} missing, its write-ahead log present: nothing is deleted`, async (t) => {
      const dir = copyOf(t, killed)
      rmSync(join(dir, file))
      const log = readFileSync(join(dir, `${file}-wal`))
      const { code, err } = await whoami(dir)
      assert.equal(code, EXIT.failed, err)
      assert.match(err, /is missing/)
      assert.deepEqual(readFileSync(join(dir, `${file}-wal`)), log)
    })
})

describe('a sealed secret', () => {
  const mutations: [what: string, damage: (path: string, other: string) => void][] = [
    ['cut to nothing', cut(() => 0)],
    ['cut to half', cut((size) => size >> 1)],
    ['one bit wrong', flip],
    ['in the place of another', (path, other) => copyFileSync(other, path)],
  ]
  it('of the vault: its users report the damage, the rest works; restored, it is read', async (t) => {
    const dir = copyOf(t, ended)
    const [path, other] = ['vault', 'device'].map((name) =>
      join(dir, 'keychain', `${name}.sealed`),
    ) as [string, string]
    const whole = readFileSync(path)
    truncateSync(path)
    const daemon = await startDaemon(dir)
    t.after(() => daemon.end('SIGKILL'))
    const { token } = await newToken(daemon.address)
    const guest = () => ask(daemon.address, token, 'POST /api/v1/guest-codes', { label: 'x' })
    for (const [what, damage] of mutations) {
      writeFileSync(path, whole)
      damage(path, other)
      const left = readFileSync(path)
      const { status, body } = await guest()
      assert.deepEqual([status, body.error], [503, 'keychain_locked'], what)
      assert.match(body.message, /vault\.sealed is damaged. Restore it/, what)
      assert.equal((await ask(daemon.address, token, 'GET /api/v1/connections')).status, 200)
      assert.deepEqual(readFileSync(path), left, what)
    }
    writeFileSync(path, whole)
    assert.equal((await guest()).status, 201)
    assert.equal(await daemon.end('SIGTERM'), 0)
  })
})
