/**
 * `doctor` and external services: the account server and its clock, the mail relay, the system’s
 * keychain.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, it } from 'node:test'
import { PROGRAM, exec } from '../../e2e/program.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { bareEnvironment, noSession, session, unlocked } from '../../keychain/session.ts'
import { type Answerer, json, scripted } from '../../remote/scripted.ts'
import { type Examined, type Expected, examine, findingOf } from '../installation.ts'

const absent = (t: TestContext) => join(freshFolder(t), 'state')
const HEALTH = { status: 'ok', version: '9.9.9', uptime_s: 1 }

/** Creates an account server with this clock offset, in milliseconds. */
const good =
  (base: () => string, offMs = 0, more: object = {}): Answerer =>
  (res, { url }) => {
    const now = new Date(Date.now() + offMs)
    res.setHeader('Date', now.toUTCString())
    return url === '/health'
      ? json(res, 200, HEALTH)
      : json(res, 200, { now: now.toISOString(), public_url: base(), ...more })
  }

const servers: [name: string, answer: (base: () => string) => Answerer, says: Expected[]][] = [
  [
    'works',
    (base) => good(base),
    [
      ['ok', 'account server', /version 9\.9\.9, answered in \d+ ms/],
      ['ok', 'clock', /off the clock of the account server/],
      ['warn', 'account', /not signed in/, /^countersignd login --email/],
    ],
  ],
  [
    'is 15 seconds ahead',
    (base) => good(base, 15_000),
    [['warn', 'clock', /1[456] seconds behind the clock of the account server/, /timedatectl/]],
  ],
  [
    'is an hour behind',
    (base) => good(base, -3_600_000),
    [
      [
        'fail',
        'clock',
        /60 minutes ahead of.*no words verify .* more than 30 seconds/,
        /timedatectl/,
      ],
    ],
  ],
  [
    'gets no messages from its database',
    (base) => good(base, 0, { hints_by: 'comparison' }),
    [
      ['ok', 'account server', /version 9\.9\.9/],
      ['warn', 'changes', /looks for changes once a second/, /connect to PostgreSQL directly/],
    ],
  ],
  [
    'has another name',
    () => good(() => 'https://accounts.example'),
    [
      [
        'fail',
        'account server',
        /the public address https:\/\/accounts\.example/,
        /^export SVC_BACKEND_URL=https:\/\/accounts\.example/,
      ],
    ],
  ],
  [
    'redirects elsewhere',
    () => (res) => res.writeHead(302, { Location: 'http://127.0.0.1:9/canary' }).end(),
    [
      [
        'fail',
        'account server',
        /redirect \(302\), which is not followed/,
        /^Check the answer yourself: curl/,
      ],
    ],
  ],
  [
    'is a web page, with a clock an hour off',
    () => (res) =>
      res
        .writeHead(200, { Date: new Date(Date.now() + 3_600_000).toUTCString() })
        .end('<html>canary'),
    [
      ['fail', 'account server', /may not be an account server/],
      ['fail', 'clock', /60 minutes behind/],
    ],
  ],
  [
    'never answers',
    () => () => undefined,
    [
      ['fail', 'account server', /did not answer in time/],
      ['warn', 'clock', /^unknown: the account server/],
    ],
  ],
]

for (const [name, answer, says] of servers)
  it(`an account server that ${name}`, async (t) => {
    let base = ''
    const server = await scripted(
      t,
      answer(() => base),
    )
    ;({ base } = server)
    const { checks } = await examine(absent(t), { SVC_BACKEND_URL: base }, ['canary'])
    for (const expected of says) findingOf(checks, expected)
    assert(
      server.seen.every(({ headers }) => headers.authorization === undefined && !headers['dpop']),
      'it showed who asks',
    )
  })

it('a mail relay, reachable and not; its password is never printed', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const env = {
    SVC_SMTP_URL: `smtp://user:canary-password@127.0.0.1:${port}`,
    SVC_DATABASE_URL: 'postgres://user:canary-password@127.0.0.1/x',
    SVC_TOKEN: 'csd_canary-password',
    SVC_BACKND_URL: 'canary-password',
    SVC_PUBLIC_URL: 'https://user:canary-password@example.org',
  }
  const there = await examine(absent(t), env, ['canary'])
  findingOf(there.checks, ['fail', 'configuration', /SVC_PUBLIC_URL is "\(not shown/])
  const { SVC_PUBLIC_URL: _, SVC_BACKND_URL: _typo, ...right } = env
  findingOf((await examine(absent(t), right, ['canary'])).checks, [
    'ok',
    'mail',
    new RegExp(`127\\.0\\.0\\.1:${port} accepts connections`),
  ])
  server.close()
  await once(server, 'close')
  const gone = await examine(absent(t), right, ['canary'])
  findingOf(gone.checks, ['fail', 'mail', /cannot be reached/, /SVC_SMTP_URL/])
})

/** Creates a state folder with its secrets in the system’s keychain. */
function inTheSystem(t: TestContext): string {
  const dir = freshFolder(t)
  const record = JSON.stringify({ backend: 'os', store: '00'.repeat(16) })
  writeFileSync(join(dir, 'keychain.json'), record, { mode: 0o600 })
  return dir
}

const OPEN = join(import.meta.dirname, '../../keychain/open.ts')

/** Runs a program in a session of its own, with a locked or an unlocked keyring. */
async function inSession(
  of: { home: string; dir: string; isOpen?: boolean },
  ...command: string[]
): Promise<string> {
  const { home, dir, isOpen = false } = of
  const env = {
    ...bareEnvironment(home),
    SVC_STATE_DIR: dir,
    SVC_HTTP_PORT: '0',
    SVC_ACCOUNT_PORT: '0',
  }
  const [program, ...words] = (isOpen ? unlocked : session)(process.execPath, ...command)
  const { stdout, stderr } = await exec(program, words, { env })
  assert.notEqual(stdout, '', stderr)
  return stdout
}

it('the system keychain, open and locked', { skip: noSession }, async (t) => {
  const of = { home: freshFolder(t), dir: freshFolder(t) }
  const doctor = async (more: object) => {
    const report = await inSession({ ...of, ...more }, PROGRAM, 'doctor', '--json')
    return (JSON.parse(report) as Examined).checks
  }
  await inSession({ ...of, isOpen: true }, OPEN, of.dir, 'auto', 'set:device=canary')
  findingOf(await doctor({ isOpen: true }), ['ok', 'keychain', /^the operating system's$/])
  const locked = await doctor({})
  findingOf(locked, ['fail', 'keychain', /locked or not available/, /unlock/])
  assert(!JSON.stringify(locked).includes('canary'))
})

it('the system keychain, without a session', { skip: noSession }, async (t) => {
  const { checks } = await examine(inTheSystem(t), { SVC_KEYCHAIN: 'auto' })
  findingOf(checks, ['fail', 'keychain', /no session bus/, /Log in to the desktop session/])
})

it(
  'a keychain that hangs is abandoned, and does not hide other findings',
  { skip: noSession },
  async (t) => {
    const dir = inTheSystem(t)
    const bus = join(freshFolder(t), 'bus')
    const server = createServer((socket) => socket.on('error', () => undefined)).listen(bus)
    await once(server, 'listening')
    t.after(() => server.close())
    const env = { SVC_KEYCHAIN: 'auto', DBUS_SESSION_BUS_ADDRESS: `unix:path=${bus}` }
    const { code, checks } = await examine(dir, env)
    findingOf(checks, ['fail', 'keychain', /does not answer, because .*hangs/, /unlock/])
    findingOf(checks, ['ok', 'daemon', /not running/])
    assert.equal(code, 1)
  },
)
