/** `backup` and `restore`: a restore brings everything back, or changes nothing. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { ACCOUNT_VERSIONS } from '../../src/service/db/migrations.ts'
import { lockState } from '../../src/storage/lock.ts'
import { STATE_VERSIONS } from '../../src/state/migrations.ts'
import { ask, caller, listed, newToken, type Json } from '../e2e/caller.ts'
import { secretsIn } from '../e2e/kept.ts'
import { folder, startDaemon as startProgram } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { noSmallDisk, smallDisk } from '../soak/small-disk.ts'
import {
  changedDatabase,
  cheapened,
  openBackup,
  resealed,
  withFiles,
  withLine,
} from './backup-reader.ts'
import { daemonHere, terminal } from './terminal.ts'

const PASSPHRASE = 'fünf Wörter, die niemand rät'

/** Writes a file with a passphrase. */
function passphraseFile(t: TestContext, text = `${PASSPHRASE}\n`, mode = 0o600): string {
  const path = join(freshFolder(t), 'passphrase')
  writeFileSync(path, text, { mode })
  chmodSync(path, mode)
  return path
}

/** An empty SQLite database of one page. */
const EMPTY = (() => {
  const db = new DatabaseSync(':memory:')
  db.exec('create table t (a); drop table t')
  const bytes = Buffer.from(db.serialize())
  db.close()
  return bytes
})()
const OTHER = `acc_${'0'.repeat(25)}1`
const KEYS = JSON.stringify({
  sign: '11'.repeat(32),
  auth: '33'.repeat(32),
  seals: { other: '22'.repeat(32) },
})

/** Returns the path of a folder that does not exist yet. */
const newFolder = (t: TestContext) => join(freshFolder(t), 'state')

/** Creates data of each kind for a user; the token `good` is valid, `revoked` is not. */
async function populate(address: string) {
  const [good, revoked] = [await newToken(address), await newToken(address, 'read')]
  const call = caller(address, good.token)
  await call(`DELETE /api/v1/api-tokens/${revoked.id}`)
  const bank = await call('POST /api/v1/connections', { name: 'Bank' })
  const guest = await call('POST /api/v1/guest-codes', { label: 'A friend' })
  const stamp = await call('POST /api/v1/stamp', { content: 'Dear Ann' })
  await call('POST /api/v1/verify', { words: 'matador carload recede' })
  // The first sync signs the name of the account, which changes its connections.
  await call('POST /api/v1/sync')
  return { good, revoked, call, bank, guest, stamp }
}

const inventory = async (call: (request: string) => Promise<Json>) => ({
  connections: await listed(call, '/api/v1/connections'),
  guests: (await listed(call, '/api/v1/guest-codes')).map(({ id, secret_here }) => [
    id,
    secret_here,
  ]),
  tokens: (await listed(call, '/api/v1/api-tokens')).map(({ id, state }) => [id, state]),
  log: await listed(call, '/api/v1/verification-log'),
  user: (await call('GET /api/v1/context')).user,
})

describe('a backup', () => {
  for (const runs of [true, false])
    it(`restores everything, made while the daemon ${runs ? 'runs' : 'is stopped'}`, async (t) => {
      const [stateDir, place, target] = [freshFolder(t), freshFolder(t), newFolder(t)]
      const first = await daemonHere(stateDir)
      let isOpen = true
      const end = async () => {
        if (isOpen) await first.close()
        isOpen = false
      }
      t.after(end)
      const { good, revoked, call, stamp } = await populate(first.address)
      const had = await inventory(call)
      if (!runs) await end()
      const secretFile = passphraseFile(t)
      const file = join(place, 'backup')
      const made = await terminal(stateDir)([
        'backup',
        file,
        '--passphrase-file',
        secretFile,
        '--json',
      ])
      assert.equal(made.code, EXIT.ok, made.err)
      const result = JSON.parse(made.out) as Json
      assert.deepEqual([result.file, result.account_database], [file, 'sqlite'])
      assert.equal(statSync(file).size, result.size_bytes)
      assert.equal(statSync(file).mode & 0o777, 0o600)
      assert.deepEqual(readdirSync(place), ['backup'])
      await end()
      // Neither the log nor the audit log contains what was typed, and no temporary file is left.
      assert(!first.log().includes('niemand'))
      assert(!readFileSync(join(stateDir, 'audit.jsonl'), 'utf8').includes('niemand'))
      assert.deepEqual(
        readdirSync(stateDir).filter((name) => /copy|tmp/.test(name)),
        [],
      )

      const run = terminal(target)
      const restored = await run(['restore', file, '--passphrase-file', secretFile])
      assert.equal(restored.code, EXIT.ok, restored.err)
      const stored = await secretsIn(target)
      assert.deepEqual(stored, await secretsIn(stateDir))
      const second = await daemonHere(target)
      t.after(() => second.close())
      const again = caller(second.address, good.token)
      assert.deepEqual(await inventory(again), had)
      const refused = await ask(second.address, revoked.token, 'GET /api/v1/status')
      assert.equal(refused.status, 401)
      const [text, stampFile] = [join(place, 'letter'), join(place, 'letter.stamp')]
      writeFileSync(text, 'Dear Ann')
      writeFileSync(stampFile, JSON.stringify(stamp))
      assert.equal((await run(['stamp', 'verify', text, stampFile])).code, EXIT.ok)
      assert.equal((await run(['audit', 'verify'])).code, EXIT.ok)
      assert.equal((await run(['sync'])).code, EXIT.ok)
      const { code, out } = await run(['doctor'])
      assert.equal(code, EXIT.ok, out)
    })

  it('made during work is consistent: no connection lacks its secret', async (t) => {
    const [stateDir, place, target] = [freshFolder(t), freshFolder(t), newFolder(t)]
    const daemon = await startProgram(stateDir)
    t.after(() => daemon.end('SIGTERM'))
    const { token } = await newToken(daemon.address)
    const call = caller(daemon.address, token)
    let goesOn = true
    async function work(who: number) {
      for (let n = 0; goesOn; n++)
        await call('POST /api/v1/connections', { name: `${who}, number ${n}` })
    }
    const working = Promise.all([1, 2, 3, 4].map(work))
    const options = ['--passphrase-file', passphraseFile(t)]
    const files = ['one', 'two', 'three'].map((name) => join(place, name))
    for (const file of files) {
      const { code, err } = await terminal(stateDir)(['backup', file, ...options])
      assert.equal(code, EXIT.ok, err)
    }
    goesOn = false
    await working
    const counts: number[] = []
    for (const [n, file] of files.entries()) {
      const dir = `${target}-${n}`
      const { code, err } = await terminal(dir)(['restore', file, ...options])
      assert.equal(code, EXIT.ok, err)
      const again = await daemonHere(dir, 'error')
      const ownCall = caller(again.address, token)
      const { last_sync: sync } = await ownCall('POST /api/v1/sync')
      assert.deepEqual([sync.ok, sync.error], [true, null])
      const connections = await listed(ownCall, '/api/v1/connections')
      assert.deepEqual(
        connections.filter(
          ({ secret_here: isHere, state }) => !isHere || state === 'roster_forked',
        ),
        [],
      )
      counts.push(connections.length)
      await again.close()
    }
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => a - b),
    )
    assert((counts.at(-1) as number) > 0)
  })
})

describe('the format of a backup', () => {
  const dir = folder()
  let bytes: Buffer
  const file = join(dir.path, 'backup')

  before(async () => {
    const stateDir = join(dir.path, 'state')
    mkdirSync(stateDir, { mode: 0o700 })
    const daemon = await daemonHere(stateDir, 'error')
    await populate(daemon.address)
    await daemon.close()
    writeFileSync(join(dir.path, 'passphrase'), PASSPHRASE, { mode: 0o600 })
    const options = ['--passphrase-file', join(dir.path, 'passphrase')]
    const { code, err } = await terminal(stateDir)(['backup', file, ...options])
    assert.equal(code, EXIT.ok, err)
    bytes = cheapened(readFileSync(file), PASSPHRASE)
  })
  after(() => dir.remove())

  const restoreInto = async (t: TestContext, content: Buffer, passphrase = PASSPHRASE) => {
    const path = join(freshFolder(t), 'backup')
    writeFileSync(path, content)
    const target = newFolder(t)
    const options = ['--passphrase-file', passphraseFile(t, passphrase)]
    const result = await terminal(target)(['restore', path, ...options])
    return { ...result, target }
  }

  it('matches the document', () => {
    const written = readFileSync(file)
    const { line, files } = openBackup(written, PASSPHRASE)
    assert.deepEqual([...files.keys()].toSorted(), [
      'account.db',
      'audit.jsonl',
      'secret',
      'state.db',
    ])
    assert.deepEqual(
      [line.state_version, line.account_version, line.server],
      [STATE_VERSIONS.newest, ACCOUNT_VERSIONS.newest, null],
    )
    assert.match(line.account, /^acc_/)
    assert.match(files.get('secret')?.toString() ?? '', /^[0-9a-f]{64}\n$/)
    assert.equal(files.get('state.db')?.toString('latin1', 0, 15), 'SQLite format 3')
    const names = Object.keys(line.secrets).map((name) => name.replace(/tok_.*/, 'tok_'))
    assert.deepEqual(names, ['device', 'session', 'vault', 'token/tok_', 'token/tok_'])
    for (const secret of Object.values<string>(line.secrets))
      assert(!written.includes(secret), 'a secret is in the clear')
  })

  it('opens with any Unicode composition of the passphrase', async (t) => {
    const { code, err } = await restoreInto(t, bytes, ` ${PASSPHRASE.normalize('NFD')} \n`)
    assert.equal(code, EXIT.ok, err)
  })

  const turned = (at: number) => (content: Buffer) => {
    content.writeUInt8(content.readUInt8(at) ^ 1, at)
    return content
  }
  const line = (change: (line: Json) => void) => (content: Buffer) =>
    withLine(content, PASSPHRASE, change)
  const more = (content: Buffer) =>
    resealed(content, PASSPHRASE, (plain) => Buffer.concat([plain, Buffer.of(0)]))
  const less = (content: Buffer) => resealed(content, PASSPHRASE, (plain) => plain.subarray(0, -1))
  const withFile = (name: string, change: (bytes: Buffer) => Buffer) => (content: Buffer) =>
    withFiles(content, PASSPHRASE, (one, bytes) => (one === name ? change(bytes) : bytes))
  /** Returns a change that runs statements on one database of the backup. */
  const sql = (name: string, statements: string) =>
    withFile(name, (bytes) => changedDatabase(bytes, (db) => db.exec(statements)))
  const flipped = (bytes: Buffer) => bytes.fill(0xff, 4096 * 3, 4096 * 4)
  const HOSTILE = '\u001b[2J\u001b]0;x\u0007\u202e'

  type Exit = keyof typeof EXIT
  const bad: [string, Exit, RegExp, (content: Buffer) => Buffer | Uint8Array][] = [
    ['nothing', 'failed', /not a backup/, () => Buffer.alloc(0)],
    ['other content', 'failed', /not a backup/, () => Buffer.from('{"key": "of something"}')],
    ['half a header', 'failed', /not a backup/, (b) => b.subarray(0, 40)],
    ['a header alone', 'failed', /does not open/, (b) => b.subarray(0, 56)],
    ['a changed salt', 'failed', /does not open with this passphrase/, turned(30)],
    ['another key derivation', 'failed', /does not support/, (b) => b.fill(40, 21, 22)],
    ['another p', 'failed', /does not open/, (b) => b.fill(2, 23, 24)],
    ['a later format', 'stateNewer', /newer countersignd/, (b) => b.fill('2', 19, 20)],
    ['a first piece that was changed', 'failed', /does not open/, turned(60)],
    ['a later piece that was changed', 'failed', /changed or is incomplete/, turned(200_000)],
    [
      'all but the first line missing, with its end',
      'failed',
      /is not a backup/,
      (b) => b.subarray(0, 20),
    ],
    ['the last byte missing', 'failed', /changed or is incomplete/, (b) => b.subarray(0, -1)],
    ['the second half missing', 'failed', /incomplete/, (b) => b.subarray(0, b.length / 2)],
    ['whole pieces missing', 'failed', /incomplete/, (b) => b.subarray(0, 56 + 3 * 65_552)],
    ['a newer state version', 'stateNewer', /newer/, line((of) => (of.state_version = 99))],
    ['a newer account version', 'stateNewer', /newer/, line((of) => (of.account_version = 99))],
    [
      'a file name outside the folder',
      'failed',
      /does not contain a backup/,
      line((of) => (of.files[0].name = '../x')),
    ],
    [
      'a file name of another kind',
      'failed',
      /does not contain a backup/,
      line((of) => (of.files[2].name = 'keychain.key')),
    ],
    [
      'a name twice',
      'failed',
      /does not contain a backup/,
      line((of) => (of.files[2].name = 'state.db')),
    ],
    [
      'a size that is too large',
      'failed',
      /does not contain a backup/,
      line((of) => (of.files[0].size += 1e9)),
    ],
    ['a byte too many', 'failed', /does not contain a backup/, more],
    ['a byte too few', 'failed', /does not contain a backup/, less],
    [
      'a text with terminal controls',
      'failed',
      /does not contain a backup/,
      line((of) => (of.account = HOSTILE)),
    ],
    [
      'another one in it',
      'failed',
      /does not contain a backup/,
      line((of) => (of.created_at += HOSTILE)),
    ],
    [
      'a third one in it',
      'failed',
      /does not contain a backup/,
      line((of) => (of.written_by += HOSTILE)),
    ],
    [
      'an invalid server',
      'failed',
      /does not contain a backup/,
      line((of) => (of.server = 'https://a/b')),
    ],
    [
      'no account database',
      'failed',
      /does not contain a backup/,
      line((of) => (of.account_database = null)),
    ],
    [
      'a database of three bytes',
      'failed',
      /state.db is incomplete/,
      withFile('state.db', () => Buffer.from('abc')),
    ],
    [
      'an empty database',
      'failed',
      /state.db differs from version/,
      withFile('state.db', () => EMPTY),
    ],
    ['half a database', 'failed', /state.db/, withFile('state.db', (b) => b.subarray(0, 8192))],
    ['a page of rubbish', 'failed', /state.db is damaged|malformed/, withFile('state.db', flipped)],
    [
      'no database at all',
      'failed',
      /state.db .*|not a database/,
      withFile('state.db', (b) => b.fill(1)),
    ],
    [
      'a table missing',
      'failed',
      /state.db differs from version/,
      sql('state.db', 'drop table trust'),
    ],
    [
      'a trigger',
      'failed',
      /state.db differs from version/,
      sql('state.db', 'create trigger t after insert on tokens begin delete from tokens; end'),
    ],
    [
      'another version',
      'failed',
      new RegExp(`does not have version ${STATE_VERSIONS.newest}`),
      sql('state.db', 'pragma user_version = 2'),
    ],
    [
      'a version from before the first release',
      'stateOlder',
      /before the first release of countersignd \(version 1;/,
      line((of) => (of.state_version = 1)),
    ],
    ['another account', 'failed', /another account/, line((of) => (of.account = OTHER))],
    [
      'another server',
      'failed',
      /another account server/,
      line((of) => (of.server = 'https://a.example')),
    ],
    [
      'the account database cut',
      'failed',
      /account.db is incomplete/,
      withFile('account.db', () => Buffer.from('abc')),
    ],
    [
      'the account database emptied',
      'failed',
      /does not have the account/,
      sql('account.db', 'pragma foreign_keys = off; delete from accounts'),
    ],
    [
      'a table of the account database missing',
      'failed',
      /account.db differs from version/,
      sql('account.db', 'drop table receipt_key'),
    ],
    ['no keys', 'failed', /keys of its device are missing/, line((of) => delete of.secrets.device)],
    [
      'keys of another device',
      'failed',
      /keys of its device/,
      line((of) => (of.secrets.device = KEYS)),
    ],
    [
      'no session',
      'failed',
      /session of its device is missing/,
      line((of) => delete of.secrets.session),
    ],
    [
      'no key of the vault',
      'failed',
      /its vault key is missing\. Nothing was restored/,
      line((of) => delete of.secrets.vault),
    ],
    [
      'another key of the vault',
      'failed',
      /not a complete backup: its vault key opens none of its \d+ sealed secrets/,
      line((of) => (of.secrets.vault = 'ab'.repeat(32))),
    ],
    [
      'a secret of something else',
      'failed',
      /nothing in it uses/,
      line((of) => (of.secrets.other = 'x')),
    ],
    [
      'no secret of the state folder',
      'failed',
      /folder’s secret/,
      withFile('secret', () => Buffer.alloc(0)),
    ],
  ]
  for (const [what, exit, message, damage] of bad)
    it(`with ${what} is rejected, and leaves nothing`, async (t) => {
      const { code, out, err, target } = await restoreInto(
        t,
        Buffer.from(damage(Buffer.from(bytes))),
      )
      assert.deepEqual([code, out], [EXIT[exit], ''], err)
      assert.match(err, message)
      assert.doesNotMatch(err, /[^\n\P{Cc}]|\u202e/u)
      assert(!existsSync(target))
    })

  it('does not open with another passphrase', async (t) => {
    const { code, err, target } = await restoreInto(t, bytes, `${PASSPHRASE}!`)
    assert.equal(code, EXIT.failed)
    assert.match(err, /does not open with this passphrase/)
    assert(!existsSync(target))
  })

  const places: [string, (dir: string) => void, RegExp][] = [
    ['a file in it', (d) => writeFileSync(join(d, 'note'), 'mine'), /is not empty \(note\)/],
    [
      'another state',
      (d) => writeFileSync(join(d, 'state.db'), 'x'),
      /is not empty.*SVC_STATE_DIR/,
    ],
  ]
  for (const [what, fill, message] of places)
    it(`is not restored into a folder with ${what}`, async (t) => {
      const target = freshFolder(t)
      fill(target)
      const before = readdirSync(target)
      const options = ['--passphrase-file', passphraseFile(t)]
      const { code, err } = await terminal(target)(['restore', file, ...options])
      assert.equal(code, EXIT.failed)
      assert.match(err, message)
      assert.deepEqual(readdirSync(target), before)
    })

  it('is not restored into a folder that another process has locked', async (t) => {
    const target = freshFolder(t)
    const lock = lockState(target)
    assert(lock)
    t.after(() => lock.release())
    const options = ['--passphrase-file', passphraseFile(t)]
    const { code, err } = await terminal(target)(['restore', file, ...options])
    assert.equal(code, EXIT.stateInUse, err)
  })

  it('a restore that was cut off prevents a start of the daemon, and can be repeated', async (t) => {
    const target = freshFolder(t)
    mkdirSync(join(target, 'restoring'), { mode: 0o700 })
    writeFileSync(join(target, 'restoring', 'state.db'), 'half', { mode: 0o600 })
    writeFileSync(join(target, 'secret'), 'moved already', { mode: 0o600 })
    const run = terminal(target)
    const status = await run(['status'])
    assert.equal(status.code, EXIT.failed)
    assert.match(status.err, /restore into .* was interrupted.*"countersignd restore FILE" again/)
    const options = ['--passphrase-file', passphraseFile(t)]
    const { code, err } = await run(['restore', file, ...options])
    assert.equal(code, EXIT.ok, err)
    assert.equal((await run(['status'])).code, EXIT.noDaemon)
    assert(!existsSync(join(target, 'restoring')))
  })

  it('a restore on a full disk leaves nothing', { skip: noSmallDisk }, async (t) => {
    const disk = smallDisk(t, 8 << 20)
    disk.fill(300_000)
    const options = ['--passphrase-file', passphraseFile(t)]
    const run = terminal(disk.stateDir)
    const { code, err } = await run(['restore', file, ...options])
    assert.equal(code, EXIT.failed)
    assert.match(err, /full. Nothing was restored. Free some space/)
    assert.deepEqual(readdirSync(disk.stateDir), [])
    disk.free()
    assert.equal((await run(['restore', file, ...options])).code, EXIT.ok)
  })
})

describe('obstacles to a backup', () => {
  const dir = folder()
  const stateDir = join(dir.path, 'state')
  before(() => mkdirSync(stateDir, { mode: 0o700 }))
  after(() => dir.remove())
  const run = terminal(stateDir)
  const long = 'x'.repeat(1025)

  const files: [string, keyof typeof EXIT, RegExp, string, number][] = [
    [
      'too short',
      'failed',
      /has 11 characters\. Choose one with at least 12/,
      'elf Zeichen',
      0o600,
    ],
    ['too long', 'failed', /longer than 1024/, long, 0o600],
    ['empty', 'configuration', /must contain only the passphrase/, '\n', 0o600],
    ['of two lines', 'configuration', /on one line/, `${PASSPHRASE}\nand more`, 0o600],
    ['open to others', 'stateUnsafe', /chmod 600/, PASSPHRASE, 0o644],
  ]
  for (const [what, exit, message, text, mode] of files)
    it(`a passphrase file that is ${what}`, async (t) => {
      const place = freshFolder(t)
      const options = ['--passphrase-file', passphraseFile(t, text, mode)]
      const { code, err } = await run(['backup', join(place, 'backup'), ...options])
      assert.equal(code, EXIT[exit], err)
      assert.match(err, message)
      assert.deepEqual(readdirSync(place), [])
    })

  it('neither a terminal nor a file', async (t) => {
    const { code, err } = await run(['backup', join(freshFolder(t), 'backup')])
    assert.equal(code, EXIT.usage)
    assert.match(err, /--passphrase-file/)
  })

  const typed: [string, (string | null)[], number, RegExp][] = [
    [
      'the same passphrase twice',
      [PASSPHRASE, PASSPHRASE],
      EXIT.ok,
      /Keep the passphrase in another place/,
    ],
    [
      'two different passphrases',
      [PASSPHRASE, `${PASSPHRASE}.`],
      EXIT.failed,
      /two passphrases were different/,
    ],
    ['one that is too short, once', ['short'], EXIT.failed, /at least 12/],
    ['nothing', [null], EXIT.failed, /No passphrase was given/],
  ]
  for (const [what, lines, exit, message] of typed)
    it(`at a terminal: ${what}`, async (t) => {
      const place = freshFolder(t)
      const left = [...lines]
      const person = () => left.shift() ?? null
      const { code, err } = await run(['backup', join(place, 'backup')], { person })
      assert.equal(code, exit, err)
      assert.match(err, message)
      assert.equal(existsSync(join(place, 'backup')), exit === EXIT.ok)
    })

  it('an existing file of that name, which stays unchanged', async (t) => {
    const path = join(freshFolder(t), 'backup')
    writeFileSync(path, 'older')
    const { code, err } = await run(['backup', path, '--passphrase-file', passphraseFile(t)])
    assert.equal(code, EXIT.failed)
    assert.match(err, /already exists/)
    assert.equal(readFileSync(path, 'utf8'), 'older')
  })

  it('a secret that the keychain cannot return: no incomplete backup is written', async (t) => {
    const broken = freshFolder(t)
    const place = freshFolder(t)
    const own = terminal(broken)
    assert.equal((await own(['token', 'create', '--name', 'one', '--scope', 'read'])).code, EXIT.ok)
    const [sealed = ''] = readdirSync(join(broken, 'keychain')).filter((name) =>
      name.startsWith('token'),
    )
    writeFileSync(join(broken, 'keychain', sealed), 'x'.repeat(100))
    const options = ['--passphrase-file', passphraseFile(t)]
    const { code, err } = await own(['backup', join(place, 'backup'), ...options])
    assert.equal(code, EXIT.keychain, err)
    assert.deepEqual(readdirSync(place), [])
  })

  it('a full disk, on which the daemon continues', { skip: noSmallDisk }, async (t) => {
    const disk = smallDisk(t, 16 << 20)
    const place = freshFolder(t)
    const daemon = await daemonHere(disk.stateDir)
    t.after(() => daemon.close())
    disk.fill(100_000)
    const options = ['--passphrase-file', passphraseFile(t)]
    const { code, err } = await terminal(disk.stateDir)(['backup', join(place, 'b'), ...options])
    assert.equal(code, EXIT.failed)
    assert.match(err, /full/)
    assert.deepEqual(readdirSync(place), [])
    disk.free()
    const again = await terminal(disk.stateDir)(['backup', join(place, 'b'), ...options])
    assert.equal(again.code, EXIT.ok, again.err)
  })
})
