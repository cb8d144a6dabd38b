/** Starts, failed starts and stops: the exit codes that scripts and service managers rely on. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { ask, caller, listed, newToken } from './caller.ts'
import {
  PROGRAM,
  ROOT,
  countersignd,
  environment,
  exec,
  folder,
  start,
  startDaemon,
  type Running,
} from './program.ts'
import { TEST_LIMIT_MS } from '../limit.ts'

const dir = folder()
const stored = join(dir.path, 'state')
let token = ''
let guest = ''

before(async () => {
  mkdirSync(stored, { mode: 0o700 })
  const daemon = await startDaemon(stored)
  token = (await newToken(daemon.address)).token
  guest = (await caller(daemon.address, token)('POST /api/v1/guest-codes', { label: 'Ann' })).id
  await daemon.end('SIGTERM')
})
after(() => dir.remove())

/** Returns digests of all stored files, by path; the lock is empty. */
function contents(of: string): Record<string, string> {
  const paths = readdirSync(of, { recursive: true, encoding: 'utf8' }).toSorted()
  return Object.fromEntries(
    paths
      .filter((path) => !/^lock\.db|-(wal|shm)$/.test(path) && statSync(join(of, path)).isFile())
      .map((path) => [
        path,
        createHash('sha256')
          .update(readFileSync(join(of, path)))
          .digest('hex'),
      ]),
  )
}

/** The prerequisites of the table’s faults, besides the state folder. */
interface Stage {
  /** A copy of the stored data. */
  readonly dir: string
  /** A port that another program listens on. */
  readonly taken: string
}

interface Case {
  readonly name: string
  readonly exit: keyof typeof EXIT
  /** The texts that the one line on standard error must contain. */
  readonly says: readonly (string | RegExp)[]
  readonly env?: (stage: Stage) => NodeJS.ProcessEnv
  /** Creates the fault. */
  readonly fault?: (stage: Stage) => void
}

const sqlite = (path: string, sql: string) => {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

const lan = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === 'IPv4' && !address.internal)?.address

const remote = 'must not be reachable from other machines'
const refusals: Case[] = [
  ...['0.0.0.0', lan ?? '192.0.2.1', '::', 'localhost', 'example.com'].map((bind): Case => ({
    name: `SVC_HTTP_BIND=${bind}`,
    exit: 'configuration',
    says: [`SVC_HTTP_BIND is "${bind}"`, '127.0.0.1', remote],
    env: () => ({ SVC_HTTP_BIND: bind }),
  })),
  {
    name: 'SVC_ACCOUNT_BIND=0.0.0.0',
    exit: 'configuration',
    says: ['SVC_ACCOUNT_BIND', remote],
    env: () => ({ SVC_ACCOUNT_BIND: '0.0.0.0' }),
  },
  ...['70000', 'http', '-1', '080'].map((port): Case => ({
    name: `SVC_HTTP_PORT=${port}`,
    exit: 'configuration',
    says: [`SVC_HTTP_PORT is "${port}"`, 'from 0 to 65535'],
    env: () => ({ SVC_HTTP_PORT: port }),
  })),
  ...['SVC_HTTP_PORT', 'SVC_ACCOUNT_PORT'].map((name): Case => ({
    name: `${name} is taken`,
    exit: 'portTaken',
    says: [/^countersignd: Port \d+ on 127\.0\.0\.1 is taken/, 'choose another port'],
    env: ({ taken }) => ({ [name]: taken }),
  })),
  {
    name: 'the state folder is open to its group',
    exit: 'stateUnsafe',
    says: ['accessible to other users', 'mode 0750', 'chmod 700'],
    fault: (stage) => chmodSync(stage.dir, 0o750),
  },
  {
    name: 'the state folder is a link',
    exit: 'stateUnsafe',
    says: ['is a link'],
    fault: (stage) => {
      renameSync(stage.dir, `${stage.dir}.real`)
      symlinkSync(`${stage.dir}.real`, stage.dir)
    },
  },
  {
    name: 'the state folder is a file',
    exit: 'stateUnsafe',
    says: ['is not a folder'],
    env: (stage) => ({ SVC_STATE_DIR: join(stage.dir, 'secret') }),
  },
  {
    name: 'the key of the keychain is open to all',
    exit: 'stateUnsafe',
    says: ['keychain.key', 'mode 0644', 'chmod 600'],
    fault: (stage) => chmodSync(join(stage.dir, 'keychain.key'), 0o644),
  },
  {
    name: 'a newer state.db',
    exit: 'stateNewer',
    says: ['state.db was written by a newer countersignd', 'version 99'],
    fault: (stage) => sqlite(join(stage.dir, 'state.db'), 'pragma user_version = 99'),
  },
  {
    name: 'a newer account.db',
    exit: 'stateNewer',
    says: ['The account database has version 99'],
    fault: (stage) =>
      sqlite(join(stage.dir, 'account.db'), 'insert into schema_version (version) values (99)'),
  },
  {
    name: 'SVC_KEYCHAIN=os, and the file keychain is recorded',
    exit: 'keychain',
    says: ['SVC_KEYCHAIN is "os"', 'in the file keychain'],
    env: () => ({ SVC_KEYCHAIN: 'os' }),
  },
  {
    name: 'the keychain is recorded as os, and there is no bus',
    exit: 'keychain',
    says: ['The keychain is not available', 'no session bus'],
    env: () => ({ SVC_KEYCHAIN: 'auto' }),
    fault: (stage) => {
      const record = JSON.stringify({ backend: 'os', store: '0'.repeat(32) })
      writeFileSync(join(stage.dir, 'keychain.json'), record)
    },
  },
  {
    name: 'the key of the keychain is gone',
    exit: 'keychain',
    says: ['The key of the file keychain is missing', 'Put it back'],
    fault: (stage) => rmSync(join(stage.dir, 'keychain.key')),
  },
  {
    name: 'SVC_ASSISTANT_URL=http://assistant.example',
    exit: 'configuration',
    says: ['SVC_ASSISTANT_URL', 'https'],
    env: () => ({ SVC_ASSISTANT_URL: 'http://assistant.example' }),
  },
  {
    name: 'the folder holds the embedded account, and an account server is configured',
    exit: 'configuration',
    says: ['holds the embedded account acc_', 'https://accounts.example', 'SVC_STATE_DIR'],
    env: () => ({ SVC_BACKEND_URL: 'https://accounts.example' }),
  },
  {
    name: 'SVC_BACKEND_URL=http://accounts.example',
    exit: 'configuration',
    says: ['SVC_BACKEND_URL', 'https'],
    env: () => ({ SVC_BACKEND_URL: 'http://accounts.example' }),
  },
  {
    name: 'SVC_HTTP_PROT, an unknown setting',
    exit: 'configuration',
    says: ['"SVC_HTTP_PROT" is not the name of a setting', 'Did you mean SVC_HTTP_PORT?'],
    env: () => ({ SVC_HTTP_PROT: '19900' }),
  },
  {
    name: 'SVC_TOKEN_USERS names an unknown user',
    exit: 'configuration',
    says: ['SVC_TOKEN_USERS names nobody-of-this-name'],
    env: () => ({ SVC_TOKEN_USERS: 'nobody-of-this-name' }),
  },
]

describe('a failed start gives the reason, has its own exit code, and changes nothing', () => {
  for (const { name, exit, says, env, fault } of refusals)
    it(`${name}: ${EXIT[exit]}`, async (t) => {
      const parent = freshFolder(t)
      const squatter = createServer().listen(0, '127.0.0.1')
      await once(squatter, 'listening')
      t.after(() => squatter.close())
      const { port } = squatter.address() as AddressInfo
      const stage: Stage = { dir: join(parent, 'state'), taken: String(port) }
      await exec('cp', ['-a', stored, stage.dir])
      fault?.(stage)
      const files = contents(stage.dir)
      const ended = await countersignd(['serve', '--json'], stage.dir, { env: env?.(stage) ?? {} })
      assert.equal(ended.code, EXIT[exit], ended.stderr)
      assert.equal(ended.stdout, '')
      const line = ended.stderr.trimEnd().split('\n').at(-1) ?? ''
      for (const part of says)
        assert(typeof part === 'string' ? line.includes(part) : part.test(line), line)
      assert(!ended.stderr.includes('    at '), 'no stack trace')
      assert.deepEqual(contents(stage.dir), files)
    })

  it('the stored data still works', async (t) => {
    const daemon = await startDaemon(stored)
    t.after(() => daemon.end('SIGTERM'))
    const [item] = await listed(caller(daemon.address, token), '/api/v1/guest-codes')
    assert.deepEqual([item.id, item.secret_here], [guest, true])
  })
})

describe('beside a running daemon', () => {
  let daemon: Running
  const state = join(dir.path, 'running')
  before(async () => {
    mkdirSync(state, { mode: 0o700 })
    daemon = await startDaemon(state)
  })
  after(() => daemon.end('SIGTERM'))

  it('a second one on the same state folder is rejected, with the address of the first', async () => {
    const { code, stderr } = await countersignd(['serve'], state)
    assert.equal(code, EXIT.stateInUse)
    assert(stderr.includes(`in use by another countersignd at ${daemon.address}`), stderr)
    assert.equal((await ask(daemon.address, null, 'GET /health')).status, 200)
    assert(existsSync(join(state, 'runtime.json')), 'the refused one left it alone')
  })

  it('a second one on the same port is rejected, and the first continues', async (t) => {
    const { port } = new URL(daemon.address)
    const { code, stderr } = await countersignd(['serve'], freshFolder(t), {
      env: { SVC_HTTP_PORT: port },
    })
    assert.equal(code, EXIT.portTaken, stderr)
    assert.equal((await ask(daemon.address, null, 'GET /health')).status, 200)
  })
})

describe('a user without a passwd entry', () => {
  const setpriv = '/usr/bin/setpriv'
  const skip = process.getuid?.() === 0 && existsSync(setpriv) ? false : 'needs root and setpriv'
  const uid = 61_234
  /** Runs a command as that user, over a folder of that user. */
  const status = (state: string, { SVC_STATE_DIR, ...more }: NodeJS.ProcessEnv) => {
    chownSync(state, uid, uid)
    const user = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', process.execPath]
    const { HOME: _, ...rest } = environment(state)
    const env = { ...rest, SVC_STATE_DIR, ...more }
    return exec(setpriv, [...user, PROGRAM, 'status'], { env })
  }

  it('can start for the first time', { skip }, async (t) => {
    const state = freshFolder(t)
    const { code, stderr } = await status(state, { SVC_STATE_DIR: state, USER: '' })
    assert.equal(code, EXIT.noDaemon, stderr)
  })

  it('without a home folder is asked to set SVC_STATE_DIR', { skip }, async (t) => {
    const { code, stderr } = await status(freshFolder(t), {})
    assert.equal(code, EXIT.configuration, stderr)
    assert.match(stderr, /^countersignd: .*no home folder.*Set SVC_STATE_DIR/)
  })
})

describe('behind a reverse proxy', () => {
  /** Returns the status of a request that a proxy forwards, with the Host of the browser. */
  const pass = async (address: string, path: string, headers: Record<string, string>) => {
    const request = get(address + path, { headers })
    const [answer] = (await once(request, 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode
  }

  for (const [url, host] of [
    ['https://sign.example', 'sign.example'],
    ['https://sign.example:8443', 'sign.example:8443'],
  ] as const)
    it(`the pages accept the host of ${url}, and the interface does not`, async (t) => {
      const daemon = await startDaemon(freshFolder(t), { SVC_PUBLIC_URL: url })
      t.after(() => daemon.end('SIGTERM'))
      const proxied = { Host: host, 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '192.0.2.1' }
      const own = { ...proxied, Origin: url, 'Sec-Fetch-Site': 'same-origin' }
      for (const headers of [proxied, own])
        assert.equal(await pass(daemon.accountAddress, '/assets/style.css', headers), 200)
      const elsewhere = { ...proxied, Host: 'evil.example' }
      assert.equal(await pass(daemon.accountAddress, '/assets/style.css', elsewhere), 403)
      assert.equal(await pass(daemon.address, '/health', proxied), 403)
      const { token: made } = await newToken(daemon.address)
      const ann = await caller(daemon.address, made)('POST /api/v1/guest-codes', { label: 'Ann' })
      assert(ann.url.startsWith(`${url}/g/gst_`), ann.url)
      const page = new URL(ann.url).pathname
      assert.equal(await pass(daemon.accountAddress, page, proxied), 200)
    })
})

describe('stopping the daemon', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    it(`${signal}: exit code 0 and no runtime.json, also with an idle connection`, async (t) => {
      const state = freshFolder(t)
      const daemon = await startDaemon(state)
      const runtime = join(state, 'runtime.json')
      assert.equal(statSync(runtime).mode & 0o777, 0o600)
      const agent = new Agent({ keepAlive: true })
      t.after(() => agent.destroy())
      const request = get(`${daemon.address}/health`, { agent })
      const [answer] = await once(request, 'response')
      answer.resume()
      await once(answer, 'end')
      assert.equal(await daemon.end(signal), 0, daemon.log())
      assert(!existsSync(runtime))
      const log = daemon.log().trimEnd().split('\n')
      const events = log.map((line) => (JSON.parse(line) as { event: string }).event)
      const ofStream = /^(changes arrive by a stream|the stream of changes ended)$/
      assert.deepEqual(
        events.filter((event) => !ofStream.test(event)),
        ['listening', 'stopping'],
      )
    })
})

describe('the message at the start', () => {
  it('names commands that exist, and one that makes a token', async (t) => {
    const stateDir = freshFolder(t)
    const daemon = await start(['serve'], stateDir, { SVC_ACCOUNT_PORT: '0' }, '--scope write\n')
    t.after(() => daemon.end('SIGTERM'))
    const lines = [...daemon.stdout.matchAll(/countersignd ((?:[\w-]+ ?)+?)(?: {2,}|$)/gm)]
    const commands = lines.map(([, command = '']) => command.trim().split(' '))
    assert.equal(commands.length, 5, daemon.stdout)
    for (const [first = '', ...rest] of commands) {
      const words = first === 'token' || first === 'guest' ? [first, rest[0] ?? ''] : [first]
      const { code, stderr } = await countersignd([...words, '--help'], stateDir)
      assert.equal(code, 0, stderr)
    }
    const made = await countersignd(commands.at(-1) ?? [], stateDir)
    assert.match(made.stdout, /^csd_[\w-]+\n$/)
  })
})

describe('the bundle', () => {
  /** A copy of the bundle, with no code cache. */
  let bundle: string
  before(async () => {
    bundle = join(dir.path, 'bundle')
    mkdirSync(bundle)
    for (const name of ['countersignd.cjs', 'program.cjs'])
      copyFileSync(join(ROOT, 'dist', name), join(bundle, name))
    mkdirSync(join(bundle, 'lib'))
    for (const name of readdirSync(join(ROOT, 'dist/lib')))
      if (!name.endsWith('.cache'))
        copyFileSync(join(ROOT, 'dist/lib', name), join(bundle, 'lib', name))
    symlinkSync(join(ROOT, 'node_modules'), join(bundle, 'node_modules'))
  })

  /** Runs a daemon of the bundle while `work` runs. Returns its standard error. */
  async function whileRunning(
    stateDir: string,
    options: readonly string[] = [],
    work = async (_address: string): Promise<unknown> => undefined,
  ): Promise<string> {
    const program = join(bundle, 'countersignd.cjs')
    const child = spawn(process.execPath, [...options, program, 'serve', '--json'], {
      env: environment(stateDir),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TEST_LIMIT_MS,
    })
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const closed = once(child, 'close')
    try {
      const [line] = await once(child.stdout, 'data')
      await work((JSON.parse(String(line)) as { address: string }).address)
    } finally {
      child.kill('SIGTERM')
    }
    assert.deepEqual(await closed, [0, null], stderr)
    return stderr
  }

  it('has a code cache that the first start leaves for the next one', async (t) => {
    const cachesAfterStart = async () => {
      await whileRunning(freshFolder(t))
      return readdirSync(bundle)
        .filter((name) => name.endsWith('.cache'))
        .map((name) => statSync(join(bundle, name)).ino)
    }
    const first = await cachesAfterStart()
    assert.equal(first.length, 1)
    // A rejected cache would be replaced.
    assert.deepEqual(await cachesAfterStart(), first)
  })

  it('answers before it loads other parts, libraries, node:crypto or threads, and syncs without curves', async (t) => {
    const stateDir = freshFolder(t)
    const syncNow = async (address: string) => {
      const { token: full } = await newToken(address)
      const { last_sync } = await caller(address, full)('POST /api/v1/sync')
      assert.equal(last_sync.ok, true)
    }
    // The first start creates the account, and signs its name.
    await whileRunning(stateDir, [], syncNow)
    const preload = ['--require', join(ROOT, 'test/e2e/loaded-modules.cjs')]
    const stderr = await whileRunning(stateDir, preload, async (address) => {
      assert.equal((await ask(address, null, 'GET /health')).status, 200)
      await syncNow(address)
    })
    interface Report {
      readonly scripts: Readonly<Record<string, number>>
      readonly builtins: readonly string[]
    }
    const [answering, ended] = (stderr.match(/^\{"scripts".*\}$/gm) ?? []).map(
      (line) => JSON.parse(line) as Report,
    )
    assert(answering !== undefined && ended !== undefined, stderr)
    assert.deepEqual(Object.keys(answering.scripts).toSorted(), ['countersignd.cjs', 'program.cjs'])
    const bytes = Object.values(answering.scripts).reduce((sum, count) => sum + count, 0)
    assert(bytes <= 600_000, `${bytes} bytes of program`)
    const late = ['crypto', 'fs/promises', 'os', 'perf_hooks', 'timers/promises', 'worker_threads']
    assert.deepEqual(
      answering.builtins.filter((name) => late.includes(name)),
      [],
    )
    const others = Object.keys(ended.scripts).filter((name) => !(name in answering.scripts))
    assert.deepEqual(others.toSorted(), ['device.cjs', 'kysely.cjs', 'sync.cjs'])
  })

  it('writes no code cache if it cannot start', async (t) => {
    const stateDir = freshFolder(t)
    const caches = () => readdirSync(bundle).filter((name) => name.endsWith('.cache'))
    for (const name of caches()) rmSync(join(bundle, name))
    const program = join(bundle, 'countersignd.cjs')
    const env = { ...environment(stateDir), SVC_HTTP_PORT: 'none' }
    assert.equal(
      (await exec(process.execPath, [program, 'serve'], { env })).code,
      EXIT.configuration,
    )
    assert.deepEqual(caches(), [])
    await whileRunning(stateDir)
    assert.equal(caches().length, 1)
  })
})

describe('a reader of the output', () => {
  it('may close the pipe early', async () => {
    const child = spawn(process.execPath, [PROGRAM, '--help'], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TEST_LIMIT_MS,
    })
    child.stdout.destroy()
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    assert.deepEqual([code, signal, stderr], [EXIT.ok, null, ''])
  })
})

describe('an old Node', async () => {
  const old = '/usr/bin/node'
  const version = existsSync(old) ? (await exec(old, ['--version'])).stdout.trim() : 'none'
  const skip = /^v(1\d|2[0-3])\./.test(version) ? false : `${old} is ${version}`

  it('is rejected with one line that names the right one', { skip }, async (t) => {
    const { code, stdout, stderr } = await exec(old, [PROGRAM, 'serve'], {
      env: environment(freshFolder(t)),
    })
    assert.equal(code, EXIT.failed)
    assert.equal(stdout, '')
    assert.equal(
      stderr,
      `countersignd needs Node 24.19 or a later 24, or 26.4 or newer; this is ${version.slice(1)}. In a clone, "npx countersignd" uses the right one.\n`,
    )
  })
})
