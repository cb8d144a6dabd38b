/**
 * Run by keychain-lock.test.ts inside a session of its own: a daemon with its secrets in a real
 * Secret Service, which is locked, stopped and started again while the daemon runs.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { type TestContext, test } from 'node:test'
import { commandLineToken } from '../../src/auth/proof.ts'
import { type Runtime, readRuntime, stateSecret } from '../../src/storage/runtime-file.ts'
import { type Answer, type Question, ask } from '../daemon.ts'
import { startDaemon } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const SECRETS = 'org.freedesktop.secrets'
const LOGIN = '/org/freedesktop/secrets/collection/login'

const send = (destination: string, path: string, method: string, ...args: string[]) =>
  execFileSync(
    'dbus-send',
    // A service that is shutting down never answers, and would be waited for.
    [
      '--session',
      '--print-reply',
      '--reply-timeout=1000',
      `--dest=${destination}`,
      path,
      method,
      ...args,
    ],
    { encoding: 'utf8', stdio: 'pipe' },
  )
const isThere = () =>
  send(
    'org.freedesktop.DBus',
    '/org/freedesktop/DBus',
    'org.freedesktop.DBus.NameHasOwner',
    `string:${SECRETS}`,
  ).includes('true')
/** A service that is shutting down does not answer. */
function isOpen(): boolean {
  try {
    return send(
      SECRETS,
      LOGIN,
      'org.freedesktop.DBus.Properties.Get',
      'string:org.freedesktop.Secret.Collection',
      'string:Locked',
    ).includes('false')
  } catch {
    return false
  }
}
const lock = () => {
  send(
    SECRETS,
    '/org/freedesktop/secrets',
    'org.freedesktop.Secret.Service.Lock',
    `array:objpath:${LOGIN}`,
  )
  assert(!isOpen())
}

/** Starts the Secret Service, unlocked; the process that had its name gives the name up. */
async function startService(t: TestContext): Promise<ChildProcess> {
  const service = spawn(
    'gnome-keyring-daemon',
    ['--foreground', '--replace', '--unlock', '--components=secrets'],
    { stdio: ['pipe', 'ignore', 'ignore'] },
  )
  t.after(() => service.kill('SIGKILL'))
  service.stdin?.end('test')
  while (!isThere() || !isOpen()) await setImmediate()
  return service
}
async function end(service: ChildProcess): Promise<void> {
  const ended = once(service, 'exit')
  service.kill('SIGTERM')
  await ended
}

async function startHere(t: TestContext, stateDir: string) {
  const { DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR, XDG_DATA_HOME } = process.env
  const daemon = await startDaemon(stateDir, {
    SVC_KEYCHAIN: 'os',
    DBUS_SESSION_BUS_ADDRESS,
    XDG_RUNTIME_DIR,
    XDG_DATA_HOME,
  })
  t.after(() => daemon.end('SIGKILL'))
  const { nonce } = readRuntime(stateDir) as Runtime
  const owner = commandLineToken(stateSecret(stateDir), nonce)
  const call = (method: string, path: string, question?: Question): Promise<Answer> =>
    ask(daemon.address, method, path, { token: owner, ...question })
  return { call, end: () => daemon.end('SIGTERM') }
}
type Here = Awaited<ReturnType<typeof startHere>>

const member = ({ json, text }: Answer, name: string): string => {
  const value = (json as Record<string, string> | undefined)?.[name]
  return value ?? assert.fail(text)
}

/** Creates the data of an installation before its keychain is locked. */
async function populate({ call }: Here) {
  const token = async (name: string) => {
    const made = await call('POST', '/api/v1/token', { body: { name, scope: 'read' } })
    return { id: member(made, 'id'), token: member(made, 'token') }
  }
  const [used, other] = [await token('used'), await token('other')]
  const connection = member(
    await call('POST', '/api/v1/connections', { body: { name: 'Bank' } }),
    'id',
  )
  const made = await call('POST', '/api/v1/guest-codes', { body: { label: 'Plumber' } })
  assert.equal(made.status, 201, made.text)
  return { used, other, connection }
}
type Populated = Awaited<ReturnType<typeof populate>>

type Row = [name: string, ask: (here: Here, had: Populated) => Promise<Answer>, status: number]
/** Operations that need a secret, and their status with an open keychain. */
const WITH: Row[] = [
  [
    'a token, at its first use',
    ({ call }, { used }) => call('GET', '/api/v1/status', { token: used.token }),
    200,
  ],
  [
    'a new token',
    ({ call }) => call('POST', '/api/v1/token', { body: { name: 'x', scope: 'read' } }),
    201,
  ],
  ['the list of tokens', ({ call }) => call('GET', '/api/v1/api-tokens'), 200],
  [
    'words to say',
    ({ call }, { connection }) => call('GET', `/api/v1/connections/${connection}/code`),
    200,
  ],
  [
    'words that were heard',
    ({ call }) => call('POST', '/api/v1/verify', { body: { words: 'matador carload recede' } }),
    200,
  ],
  ['a stamp', ({ call }) => call('POST', '/api/v1/stamp', { body: { content: 'x' } }), 201],
  ['a connection', ({ call }) => call('POST', '/api/v1/connections', { body: { name: 'y' } }), 201],
  [
    'a guest code',
    ({ call }) => call('POST', '/api/v1/guest-codes', { body: { label: 'z' } }),
    201,
  ],
]
/** Operations that need no secret. */
const WITHOUT: Row[] = [
  ['health', ({ call }) => call('GET', '/health'), 200],
  ['status', ({ call }) => call('GET', '/api/v1/status'), 200],
  ['connections', ({ call }) => call('GET', '/api/v1/connections'), 200],
  ['tags', ({ call }) => call('GET', '/api/v1/tags'), 200],
  [
    'a tag',
    ({ call }) => call('POST', '/api/v1/tags', { body: { name: String(Math.random()) } }),
    201,
  ],
  ['profile', ({ call }) => call('GET', '/api/v1/profile'), 200],
  ['an unknown token', ({ call }) => call('GET', '/api/v1/status', { token: 'csd_no' }), 401],
  [
    'the account server',
    ({ call }) => call('POST', '/api/v1/chat', { body: { message: 'verify' } }),
    200,
  ],
]

/** Returns the rows with a wrong answer. */
async function faults(here: Here, had: Populated, rows: readonly Row[], isOpen: boolean) {
  const wrong: string[] = []
  for (const [name, asked, status] of rows) {
    const answer = await asked(here, had)
    const { error, message = '' } = (answer.json ?? {}) as { error?: string; message?: string }
    const isGood = isOpen
      ? answer.status === status
      : answer.status === 503 && error === 'keychain_locked' && /unlock/i.test(message)
    if (!isGood) wrong.push(`${name}: ${answer.status} ${answer.text}`)
  }
  return wrong
}

const inFolder = (stateDir: string) =>
  readdirSync(stateDir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /keychain/.test(name),
  )

test('locked before the first read, unlocked by another service: everything is read', async (t) => {
  let service = await startService(t)
  const stateDir = freshFolder(t)
  const first = await startHere(t, stateDir)
  const had = await populate(first)
  assert.equal(await first.end(), 0)

  const here = await startHere(t, stateDir)
  lock()
  assert.deepEqual(await faults(here, had, WITH, false), [])
  assert.deepEqual(await faults(here, had, WITHOUT, true), [])
  const revoked = await here.call('DELETE', `/api/v1/api-tokens/${had.other.id}`)
  assert([204, 503].includes(revoked.status), revoked.text)
  const status = async () =>
    (await here.call('GET', '/api/v1/status', { token: had.other.token })).status
  assert.equal(await status(), 401)
  assert.deepEqual(inFolder(stateDir), ['keychain.json'])

  await end(service)
  service = await startService(t)
  assert.deepEqual(await faults(here, had, WITH, true), [])
  assert.deepEqual(await faults(here, had, WITHOUT, true), [])
  assert.equal(await status(), 401)

  // The service stops and returns: secrets that were read stay usable, and operations with new
  // ones wait.
  await end(service)
  const [, newToken] = WITH as [Row, Row]
  assert.deepEqual(await faults(here, had, WITHOUT, true), [])
  assert.deepEqual(await faults(here, had, [newToken], false), [])
  assert.equal((await here.call('GET', '/api/v1/status', { token: had.used.token })).status, 200)
  service = await startService(t)
  assert.deepEqual(await faults(here, had, WITH, true), [])
  assert.deepEqual(inFolder(stateDir), ['keychain.json'])

  // A token that was revoked while the keychain was locked stays revoked after a start.
  assert.equal(await here.end(), 0)
  const last = await startHere(t, stateDir)
  const late = await last.call('GET', '/api/v1/status', { token: had.other.token })
  assert.equal(late.status, 401)
  assert.equal(await last.end(), 0)
})
