/** `doctor` over installations that are really broken: the line that says so, the exit code, and what is to be done about it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, after, before, describe, it } from 'node:test'
import { writeRuntime } from '../../src/state/runtime.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { streams, terminal } from './terminal.ts'
import { run } from '../../src/cli/run.ts'
import { type Expected, change, copyOf, examine, findingOf, wholeFolder } from './installation.ts'

const isRoot = process.getuid?.() === 0
const skipModes = process.platform === 'win32' ? 'Windows has no modes' : false

let whole: Awaited<ReturnType<typeof wholeFolder>>
before(async () => {
  whole = await wholeFolder()
})
after(() => whole.remove())

interface Broken {
  readonly name: string
  readonly skip?: string | false
  /** Break it; gives back further settings. */
  readonly by: (dir: string, t: TestContext) => NodeJS.ProcessEnv | void
  readonly says: readonly Expected[]
  /** Whether the remedies, run by a shell as they are, mend it. */
  readonly mends?: boolean
  /** What stays: a warning at most, where it is not said that something fails. */
  readonly code?: 0 | 1
}

const open = (dir: string, name: string, mode: number) => chmodSync(join(dir, name), mode)
const DAY_MS = 86_400_000

const table: readonly Broken[] = [
  { name: 'nothing', by: () => undefined, says: [['ok', 'daemon', /none runs/]], code: 0 },
  {
    name: 'the folder and files in it are open to others',
    skip: skipModes,
    by: (dir) => {
      chmodSync(dir, 0o755)
      open(dir, 'secret', 0o644)
      open(dir, 'keychain', 0o750)
      open(dir, 'state.db', 0o660)
    },
    says: [
      ['fail', 'state folder', /open to other users \(mode 0755\)/, /^chmod 700 '/],
      ['fail', 'files', /\/secret is open to other users/, /^chmod 600 '/],
      ['fail', 'files', /\/keychain is open to other users/, /^chmod 700 '/],
      ['fail', 'files', /\/state\.db is open to other users/, /^chmod 600 '/],
    ],
    mends: true,
  },
  {
    name: 'many files are open to others',
    skip: skipModes,
    by: (dir) => {
      for (let n = 0; n < 9; n++)
        writeFileSync(join(dir, 'keychain', `${n}.sealed`), '', { mode: 0o644 })
    },
    says: [['fail', 'files', /4 more like these/, /^chmod -R go= '/]],
  },
  {
    name: 'the folder and files in it are another’s',
    skip: skipModes || (!isRoot && 'only root gives files away'),
    by: (dir) => {
      chownSync(join(dir, 'state.db'), 65_534, 65_534)
      chownSync(dir, 65_534, 65_534)
    },
    says: [
      ['fail', 'state folder', /belongs to user 65534, this is user 0/, /chown -R/],
      ['fail', 'files', /state\.db belongs to user 65534/, /^chown "\$\(id -u\)" '/],
    ],
  },
  {
    name: 'what is no file of ours lies in the folder',
    skip: skipModes,
    by: (dir) => {
      symlinkSync('/etc/passwd', join(dir, 'link'))
      execFileSync('mkfifo', [join(dir, 'fifo')])
    },
    says: [
      ['fail', 'files', /\/link is a link/, /rm '/],
      ['fail', 'files', /\/fifo is neither a file nor a folder/, /^rm '/],
    ],
  },
  {
    name: 'a write that did not end',
    by: (dir) => {
      const path = join(dir, 'keychain.json.tmp')
      writeFileSync(path, '{', { mode: 0o600 })
      utimesSync(path, 1, 1)
    },
    says: [['warn', 'files', /keychain\.json\.tmp was left/, /^rm '/]],
    mends: true,
    code: 0,
  },
  {
    name: 'a folder above is open to everybody',
    skip: skipModes,
    by: (dir) => chmodSync(dirname(dir), 0o777),
    says: [['fail', 'state folder', /can be written by every user/, /^chmod o-w '/]],
    mends: true,
  },
  {
    name: 'a folder above is open to a group, another is somebody else’s',
    skip: skipModes || (!isRoot && 'only root gives files away'),
    by: (dir) => {
      const path = dirname(dir)
      chmodSync(path, 0o770)
      chownSync(path, 65_534, 65_534)
    },
    says: [
      ['fail', 'state folder', /belongs to user 65534, who can put another/],
      ['warn', 'state folder', /can be written by group 65534/, /^chmod g-w '/],
    ],
  },
  {
    name: 'both databases are cut, the lock is garbage, runtime.json is of nobody',
    by: (dir) => {
      truncateSync(join(dir, 'state.db'), 100)
      truncateSync(join(dir, 'account.db'), 8192)
      writeFileSync(join(dir, 'lock.db'), 'garbage'.repeat(200), { mode: 0o600 })
      writeFileSync(join(dir, 'runtime.json'), '{"pid":', { mode: 0o600 })
    },
    says: [
      ['fail', 'state.db', /state\.db is damaged \(it is cut short\)/, /restore it from a backup/],
      ['fail', 'account.db', /account\.db is damaged/, /keep what is damaged/],
      [
        'fail',
        'daemon',
        /nobody can tell whether one runs: file is not a database/,
        /rm '.*lock\.db'/,
      ],
      ['warn', 'account', /state\.db cannot be read/],
    ],
  },
  {
    name: 'the databases hold something else, and runtime.json is left of one that was killed',
    by: (dir) => {
      writeFileSync(join(dir, 'state.db'), 'not a database '.repeat(999), { mode: 0o600 })
      const page = Buffer.alloc(4096, 0xff)
      const account = readFileSync(join(dir, 'account.db'))
      writeFileSync(
        join(dir, 'account.db'),
        Buffer.concat([account.subarray(0, 8192), page, account.subarray(12_288)]),
      )
      writeRuntime(dir, {
        pid: 1,
        address: 'http://user:canary@127.0.0.1:1',
        nonce: 'canary',
        version: '0',
      })
    },
    says: [
      ['fail', 'state.db', /damaged \(file is not a database\)/],
      ['fail', 'account.db', /account\.db is damaged/],
      ['warn', 'daemon', /none runs; runtime\.json is left/, /^countersignd serve$/],
    ],
  },
  {
    name: 'a newer program wrote the databases',
    by: (dir) => {
      change(dir, 'state.db', 'pragma user_version = 99')
      change(dir, 'account.db', 'insert into schema_version (version) values (99)')
    },
    says: [
      ['fail', 'state.db', /newer countersignd \(version 99/, /Update countersignd/],
      ['fail', 'account.db', /newer countersignd \(version 99/, /Update countersignd/],
    ],
  },
  {
    name: 'databases and keys are gone',
    by: (dir) => {
      for (const name of ['state.db', 'keychain.key']) rmSync(join(dir, name))
    },
    says: [
      ['fail', 'state.db', /is gone, and this is no first start/, /backup/],
      ['fail', 'keychain', /key of the file keychain is gone/, /backup/],
    ],
  },
  {
    name: 'the account database is gone, and the sealed files',
    by: (dir) => {
      rmSync(join(dir, 'account.db'))
      rmSync(join(dir, 'keychain'), { recursive: true })
    },
    says: [
      ['fail', 'account', /account\.db is gone/, /backup/],
      ['fail', 'keychain', /holds no keys of this device/, /backup/],
    ],
  },
  {
    name: 'the key is another one',
    by: (dir) => writeFileSync(join(dir, 'keychain.key'), `${'ab'.repeat(32)}\n`),
    says: [['fail', 'keychain', /key found is not the one/, /backup/]],
  },
  {
    name: 'the record of the keychain is garbage, a line of the audit log was changed',
    by: (dir) => {
      writeFileSync(join(dir, 'keychain.json'), 'garbage')
      const log = join(dir, 'audit.jsonl')
      writeFileSync(log, readFileSync(log, 'utf8').replace('started', 'stopped'))
    },
    says: [
      ['fail', 'keychain', /keychain\.json is damaged/],
      ['fail', 'audit log', /audit\.jsonl, row \d+/, /countersignd audit verify/],
    ],
  },
  {
    name: 'SVC_KEYCHAIN is not the recorded one; more is wrong with the environment',
    by: () => ({
      SVC_KEYCHAIN: 'os',
      SVC_HTTP_PORT: 'eighty',
      SVC_BACKND_URL: 'https://canary.example',
      SVC_CA_FILE: '/nowhere/ca.pem',
      SVC_TOKEN_FILE: '/nowhere/token',
      SVC_TOKEN_USERS: 'nobody-of-that-name',
      NODE_OPTIONS: '--no-deprecation',
    }),
    says: [
      ['fail', 'configuration', /SVC_HTTP_PORT is "eighty"/],
      ['fail', 'configuration', /"SVC_BACKND_URL" is not the name.*SVC_BACKEND_URL/],
      ['fail', 'configuration', /SVC_CA_FILE names \/nowhere\/ca\.pem/],
      ['fail', 'configuration', /SVC_TOKEN_FILE names \/nowhere\/token/],
      ['fail', 'configuration', /there is no such user/],
      ['warn', 'program', /NODE_OPTIONS/, /^unset NODE_OPTIONS$/],
      ['fail', 'keychain', /SVC_KEYCHAIN is "os", but the secrets of .* are in the file keychain/],
      ['ok', 'state.db', /^whole/],
    ],
  },
  {
    name: 'everybody may create tokens, mail goes nowhere, the assistant’s key is open',
    skip: process.platform !== 'linux' && 'peers are told on Linux',
    by: (dir) => {
      const key = join(dirname(dir), 'key')
      writeFileSync(key, 'sk-canary', { mode: 0o644 })
      return {
        SVC_TOKEN_USERS: 'any',
        SVC_MAIL_DIR: '/dev/null/mail',
        SVC_ASSISTANT_URL: 'https://assistant.example/canary/v1',
        SVC_ASSISTANT_KEY_FILE: key,
      }
    },
    says: [
      ['warn', 'token route', /every user of this machine/, /SVC_TOKEN_USERS=/],
      ['fail', 'mail', /\/dev\/null cannot be written/, /SVC_MAIL_DIR/],
      ['fail', 'assistant', /open to other users/, /^Make it a file/],
    ],
  },
  {
    name: 'the clock has gone back',
    by: (dir) => {
      const ahead = Math.floor(Date.now() / 60_000) + 300
      change(dir, 'state.db', `insert into replays_highest values (1, ${ahead})`)
    },
    says: [['fail', 'clock', /gone back.* 5 hours later/, /timedatectl/]],
  },
  {
    name: 'the folder is of another account server; that does not answer',
    by: () => ({ SVC_BACKEND_URL: 'http://127.0.0.1:1' }),
    says: [
      ['fail', 'account', /holds the embedded account/, /^unset SVC_BACKEND_URL/],
      ['fail', 'account server', /127\.0\.0\.1:1 cannot be reached/, /^Try it by hand: curl/],
      ['warn', 'clock', /nobody can tell/],
    ],
  },
  {
    name: 'the last sync failed',
    by: (dir) => {
      const report = { ok: false, error: 'The account server says: no.\u001b[2J' }
      change(
        dir,
        'state.db',
        'insert into meta values (?, ?) on conflict do update set value = excluded.value',
        'last_sync',
        JSON.stringify(report),
      )
    },
    says: [
      [
        'warn',
        'sync',
        /The last one failed|the last one failed: The account server says/,
        /^countersignd sync$/,
      ],
    ],
    code: 0,
  },
  {
    name: 'a device that waits for approval and has not synced for long',
    by: (dir) => {
      const upsert =
        'insert into meta values (?, ?) on conflict do update set value = excluded.value'
      change(
        dir,
        'state.db',
        `update meta set value = json_set(value, '$.approved', json('false'), '$.server', 'http://127.0.0.1:1') where key = 'identity'`,
      )
      change(
        dir,
        'state.db',
        upsert,
        'last_good_sync',
        JSON.stringify(new Date(Date.now() - 8 * DAY_MS).toISOString()),
      )
      return { SVC_BACKEND_URL: 'http://127.0.0.1:1' }
    },
    says: [
      ['warn', 'account', /waits for approval/, /countersignd whoami/],
      ['warn', 'sync', /8 days ago/, /^countersignd sync$/],
    ],
  },
]

describe('an installation, broken by', { concurrency: 2 }, () => {
  for (const { name, skip = false, by, says, mends = false, code = 1 } of table)
    it(name, { skip }, async (t) => {
      const dir = copyOf(t, whole.path)
      const env = by(dir, t) ?? {}
      const canaries = Object.keys(env).length === 0 ? ['canary'] : []
      const found = await examine(dir, env, canaries)
      const lines = says.map((expected) => findingOf(found.checks, expected))
      assert.equal(found.code, code)
      if (!mends) return
      for (const { remedy } of lines) execFileSync('sh', ['-c', remedy ?? ''])
      const again = await examine(dir, env)
      assert.deepEqual(
        again.checks.filter(({ state }) => state !== 'ok'),
        [],
      )
    })
})

describe('where there is nothing to look at', { concurrency: 2 }, () => {
  it('no folder: it is not made, and nothing is wrong', async (t) => {
    const dir = join(freshFolder(t), 'a', 'b')
    const { code, checks } = await examine(dir)
    assert.equal(code, 0)
    findingOf(checks, ['ok', 'state folder', /is not there yet/])
    assert(!existsSync(dirname(dir)))
  })

  it('no folder, and none can be made', async () => {
    const { checks } = await examine('/dev/null/state')
    findingOf(checks, ['fail', 'state folder', /cannot be/])
  })

  const instead: [name: string, by: (dir: string) => void, expected: Expected][] = [
    [
      'a link',
      (dir) => symlinkSync(tmpdir(), dir),
      ['fail', 'state folder', /is a link/, /readlink -f/],
    ],
    [
      'a file',
      (dir) => writeFileSync(dir, ''),
      ['fail', 'state folder', /is not a folder/, /Move it away/],
    ],
  ]
  for (const [name, by, expected] of instead)
    it(`${name} in its place`, async (t) => {
      const dir = join(freshFolder(t), 'state')
      by(dir)
      const { checks } = await examine(dir)
      findingOf(checks, expected)
    })

  it('no home folder: the rest is looked at', async () => {
    const { said, io } = streams()
    const env = { PATH: process.env['PATH'], XDG_STATE_HOME: '', SVC_STATE_DIR: 'relative' }
    assert.equal(await run(['doctor'], { ...io, env }), 1)
    assert.match(
      said.out,
      /^fail {2}configuration +SVC_STATE_DIR is "relative": it must be an absolute path/m,
    )
    assert.match(said.out, /^ok {4}program /m)
  })
})

it('a disk that is full', { skip: !isRoot && 'only root mounts' }, async (t) => {
  const top = mkdtempSync(join(tmpdir(), 'countersign-full-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m,mode=0700', 'tmpfs', top])
  t.after(() => {
    execFileSync('umount', [top])
    rmSync(top, { recursive: true })
  })
  const { checks } = await examine(top)
  findingOf(checks, ['fail', 'disk', /free/, /^Make room/])
})

describe('on a terminal', () => {
  const shownTo = async (env: NodeJS.ProcessEnv, dir: string) => {
    const { said, io } = streams()
    const stdout = { ...io.stdout, isTTY: true }
    await run(['doctor'], {
      ...io,
      stdout,
      env: { SVC_STATE_DIR: dir, SVC_HTTP_PORT: '0', SVC_ACCOUNT_PORT: '0', ...env },
    })
    return said.out
  }

  it('the words are coloured, unless NO_COLOR is set', async (t) => {
    const dir = join(freshFolder(t), 'state')
    assert((await shownTo({}, dir)).startsWith('\u001b[32mok  \u001b[0m  configuration'))
    assert(!(await shownTo({ NO_COLOR: '1' }, dir)).includes('\u001b'))
  })

  it('what was read elsewhere moves no cursor', async (t) => {
    const dir = copyOf(t, whole.path)
    renameSync(join(dir, 'secret'), join(dir, 'a\u001b[2J'))
    chmodSync(join(dir, 'a\u001b[2J'), 0o644)
    const { out } = await terminal(dir)(['doctor'])
    assert(out.includes('is open to other users') && !out.includes('\u001b'))
  })
})

it('takes no other part to look at, and no other option', async (t) => {
  const run = terminal(join(freshFolder(t), 'state'))
  for (const args of [['--parts', 'x'], ['--parts', 'constructor'], ['--fix'], ['x']])
    assert.equal((await run(['doctor', ...args])).code, 2, args.join(' '))
})
