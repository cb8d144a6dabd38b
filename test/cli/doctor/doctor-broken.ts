/**
 * Installations with a really broken state folder: the expected report line, exit code and
 * remedy.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { writeRuntime } from '../../../src/storage/runtime-file.ts'
import { type Expected, change } from '../installation.ts'

const isRoot = process.getuid?.() === 0
const skipModes = process.platform === 'win32' ? 'Windows has no modes' : false

/** A way to break an installation, and the findings that `doctor` should report. */
export interface Broken {
  readonly name: string
  readonly skip?: string | false
  /** Breaks the folder; returns further settings. */
  readonly by: (dir: string) => NodeJS.ProcessEnv | void
  readonly says: readonly Expected[]
  /** Whether the remedies, run by a shell unchanged, repair it. */
  readonly mends?: boolean
  /** The exit code of `doctor`: 0 for warnings at most, by default 1. */
  readonly code?: 0 | 1
}

const open = (dir: string, name: string, mode: number) => chmodSync(join(dir, name), mode)

/** Faults of the folder and of the folders above it. */
export const FOLDERS: readonly Broken[] = [
  { name: 'nothing', by: () => undefined, says: [['ok', 'daemon', /not running/]], code: 0 },
  {
    name: 'another device set a recovery key, and no name was signed since a reset',
    by: (dir) => {
      const set = { key: 'x', device: 'dev_1', name: 'phone', at: 0, revoked: false }
      change(
        dir,
        'state.db',
        `insert or replace into meta values ('recovery_look', '${JSON.stringify({ seq: 1, set })}'),
           ('former_name', '${JSON.stringify({ name: 'Ann', jws: '' })}')`,
      )
    },
    says: [
      [
        'warn',
        'recovery',
        /"phone" \(dev_1\) set a recovery key on 1970-01-01/,
        /recovery dismiss/,
      ],
      ['warn', 'name', /previous name "Ann"/, /profile set --name/],
    ],
    code: 0,
  },
  {
    name: 'the folder and files in it are open to others, and a write did not end',
    skip: skipModes,
    by: (dir) => {
      const path = join(dir, 'keychain.json.tmp')
      writeFileSync(path, '{', { mode: 0o600 })
      utimesSync(path, 1, 1)
      chmodSync(dir, 0o755)
      open(dir, 'secret', 0o644)
      open(dir, 'keychain', 0o750)
      open(dir, 'state.db', 0o660)
    },
    says: [
      ['fail', 'state folder', /accessible to other users \(mode 0755\)/, /^chmod 700 '/],
      ['warn', 'files', /keychain\.json\.tmp was left/, /^rm '/],
      ['fail', 'files', /\/secret is accessible to other users/, /^chmod 600 '/],
      ['fail', 'files', /\/keychain is accessible to other users/, /^chmod 700 '/],
      ['fail', 'files', /\/state\.db is accessible to other users/, /^chmod 600 '/],
    ],
    mends: true,
  },
  {
    name: 'the folder holds files of others too, and it and its parent are open to others',
    skip: skipModes,
    by: (dir) => {
      writeFileSync(join(dir, 'letter.txt'), '')
      open(dir, 'letter.txt', 0o644)
      chmodSync(dirname(dir), 0o777)
      chmodSync(dir, 0o755)
    },
    says: [
      [
        'fail',
        'state folder',
        /every user can write to the parent folder/,
        /^Set SVC_STATE_DIR to a folder inside/,
      ],
      [
        'fail',
        'state folder',
        /accessible to other users \(mode 0755\)/,
        /^Choose a folder of its own with SVC_STATE_DIR\.$/,
      ],
      ['ok', 'files', /all belong to this user and are closed to others/],
    ],
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
    name: 'the folder and files in it belong to another user',
    skip: skipModes || (!isRoot && 'only root gives files away'),
    by: (dir) => {
      chownSync(join(dir, 'state.db'), 65_534, 65_534)
      chownSync(dir, 65_534, 65_534)
    },
    says: [
      ['fail', 'state folder', /belongs to user 65534, but this is user 0/, /chown -R/],
      ['fail', 'files', /state\.db belongs to user 65534/, /^chown "\$\(id -u\)" '/],
    ],
  },
  {
    name: 'the folder contains foreign files',
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
    name: 'one parent folder is open to a group, another belongs to another user',
    skip: skipModes || (!isRoot && 'only root gives files away'),
    by: (dir) => {
      const path = dirname(dir)
      chmodSync(path, 0o770)
      chownSync(path, 65_534, 65_534)
    },
    says: [
      ['fail', 'state folder', /belongs to user 65534, who can replace the state folder/],
      ['warn', 'state folder', /group 65534 can write to the parent folder/, /^Set SVC_STATE_DIR/],
    ],
  },
  {
    name: 'both databases are cut, the lock is garbage, runtime.json names no process',
    by: (dir) => {
      truncateSync(join(dir, 'state.db'), 100)
      truncateSync(join(dir, 'account.db'), 8192)
      writeFileSync(join(dir, 'lock.db'), 'garbage'.repeat(200), { mode: 0o600 })
      writeFileSync(join(dir, 'runtime.json'), '{"pid":', { mode: 0o600 })
    },
    says: [
      [
        'fail',
        'state.db',
        /state\.db is damaged \(it is incomplete\)/,
        /restore the state folder from a backup/,
      ],
      [
        'fail',
        'account.db',
        /account\.db is damaged/,
        /move the whole state folder elsewhere and keep it/,
      ],
      [
        'fail',
        'daemon',
        /cannot tell whether a daemon is running: file is not a database/,
        /rm '.*lock\.db'/,
      ],
      ['warn', 'account', /state\.db cannot be read/],
    ],
  },
  {
    name: 'the databases have other content, and a killed daemon left runtime.json',
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
        socket: null,
        nonce: 'canary',
        version: '0',
        stateVersion: null,
      })
    },
    says: [
      ['fail', 'state.db', /damaged \(file is not a database\)/],
      ['fail', 'account.db', /account\.db is damaged/],
      ['warn', 'daemon', /not running; runtime\.json is left/, /^countersignd serve$/],
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
      ['fail', 'state.db', /is missing, although this is not the first start/, /backup/],
      ['fail', 'keychain', /key of the file keychain is missing/, /backup/],
    ],
  },
  {
    name: 'the account database is gone, and the sealed files',
    by: (dir) => {
      rmSync(join(dir, 'account.db'))
      rmSync(join(dir, 'keychain'), { recursive: true })
    },
    says: [
      ['fail', 'account', /account\.db is missing/, /backup/],
      ['fail', 'keychain', /does not contain the keys of this device/, /backup/],
    ],
  },
  {
    name: 'the key is another one',
    by: (dir) => writeFileSync(join(dir, 'keychain.key'), `${'ab'.repeat(32)}\n`),
    says: [['fail', 'keychain', /key found does not open/, /backup/]],
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
      ['fail', 'audit log', /line \d+ of audit\.jsonl/, /countersignd audit verify/],
    ],
  },
]
