/**
 * The account server goes away and comes back: local operations continue, and their results are
 * uploaded once.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Socket, createServer } from 'node:net'
import { it } from 'node:test'
import { entrance, signedIn } from '../../src/api/device/index.ts'
import { rest } from '../../src/api/rest/index.ts'
import { site } from '../../src/api/site/index.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { freePort } from '../free-port.ts'
import { asOwner, newMachine, signIn } from '../handlers/people.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'

interface Report {
  readonly last_sync: {
    ok: boolean
    started_at: string
    error: string | null
    pushed: { verifications: number }
  }
}

interface Status {
  readonly backend_reachable: boolean | null
  readonly backend_unreachable_since: string | null
  readonly not_working: readonly string[]
  readonly waiting: { verifications: number; stamps: number; rotations: number } | null
  readonly summary: string
}

/** The number of attempts for a request while the server is not known to be away. */
const ATTEMPTS = 4

/**
 * Listens at the server’s address while the server is away: it counts the requests by their path,
 * because a daemon also sends some by itself, and closes their connections.
 */
async function nobodyAt(port: number) {
  const paths: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (request) => {
      paths.push(/^\w+ ([^? ]+)/.exec(String(request))?.[1] ?? '')
      socket.destroy()
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    /** Returns the result of an operation, and how often it requested a path. */
    async during<T>(path: string, act: () => Promise<T>): Promise<{ made: T; attempts: number }> {
      const before = paths.length
      const made = await act()
      return { made, attempts: paths.slice(before).filter((one) => one === path).length }
    },
    async close() {
      server.close()
      await once(server, 'close')
    },
  }
}

it('stamps and checks continue without the account server', async (t) => {
  const dir = freshFolder(t)
  const running: TestDaemon[] = []
  const started = async (env: Record<string, string>) => {
    const daemon = await startDaemon(env)
    running.push(daemon)
    return daemon
  }
  t.after(async () => {
    for (const daemon of running.toReversed()) await daemon.close()
  })
  const port = await freePort()
  const onPort = { SVC_STATE_DIR: dir, SVC_ACCOUNT_PORT: String(port) }
  const server = await started(onPort)
  const own = { SVC_BACKEND_URL: server.accountAddress, SVC_STATE_DIR: freshFolder(t) }
  const first = await started(own)
  await signIn(first, server, 'fay@example.org')
  await first.close()
  running.splice(running.indexOf(first), 1)
  // After a sign-in a daemon syncs several times by itself, after a start once: any later sync was
  // requested.
  const startedAt = Date.now()
  const daemon = await started(own)
  const synced = async () => {
    const { last_sync } = await asOwner<Report>(daemon, 'GET', '/api/v1/sync')
    return Date.parse(last_sync?.started_at ?? '') >= startedAt
  }
  await until('a sync after the start', synced)
  const csm = await (await newMachine(server)).token('full')
  const { id } = await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/connections', { name: 'B' })
  const sync = () => asOwner<Report>(daemon, 'POST', '/api/v1/sync')
  assert((await sync()).last_sync.ok)

  const left = Date.now()
  await server.close()
  running.splice(running.indexOf(server), 1)
  const gap = await nobodyAt(port)
  t.after(() => gap.close().catch(() => undefined))
  const checked = await gap.during(signedIn.lookups.create.path, async () => {
    const path = `/api/v1/connections/${id}/code`
    const { words } = await asOwner<{ words: string }>(daemon, 'GET', path)
    return asOwner<object>(daemon, 'POST', '/api/v1/verify', { words })
  })
  assert.partialDeepStrictEqual(checked.made, { echo: true, conclusive: true })
  assert.equal(checked.attempts, 0, 'words are checked without anybody')
  const stamped = await gap.during(signedIn.stamps.create.path, () =>
    asOwner<{ receipt: null }>(daemon, 'POST', '/api/v1/stamp', { content: 'x' }),
  )
  assert.equal(stamped.made.receipt, null)
  assert(stamped.attempts <= ATTEMPTS, `${stamped.attempts} attempts for a receipt`)
  const failing = () => daemon.request('POST', '/api/v1/sync', { token: daemon.owner() })
  const failed = await gap.during(entrance.clock.read.path, failing)
  assert.equal(failed.made.status, 503, failed.made.text)
  const refused = failed.made.json as { error: string; message: string }
  assert.equal(refused.error, 'backend_unavailable')
  assert(failed.attempts > 0 && failed.attempts <= ATTEMPTS, `${failed.attempts} attempts to sync`)
  const known = await gap.during(entrance.clock.read.path, failing)
  assert.equal(known.attempts, 1, 'a server that is known to be away is asked once')
  const { last_sync: away } = await asOwner<Report>(daemon, 'GET', '/api/v1/sync')
  assert.deepEqual([away.ok, away.pushed.verifications], [false, 0])
  assert.equal(away.error, refused.message)
  assert.match(refused.message, /account server http:/)
  const answer = await gap.during(site.siteHealth.ready.path, () =>
    asOwner<Status>(daemon, 'GET', '/api/v1/status'),
  )
  assert.equal(answer.made.backend_reachable, false)
  assert(Date.parse(answer.made.backend_unreachable_since ?? '') >= left)
  assert.match(
    answer.made.summary,
    /^Signed in to .* has not answered since .* stamps still work, and lists come from/,
  )
  assert(answer.made.not_working.length > 0)
  assert.equal(answer.attempts, 0, 'the last call said so a moment ago')
  assert.deepEqual(answer.made.waiting, { verifications: 1, stamps: 1, rotations: 0 })
  const list = await gap.during(rest.connections.list.path, () =>
    asOwner<{ as_of: string }>(daemon, 'GET', rest.connections.list.path),
  )
  assert(Date.parse(list.made.as_of) <= left)
  assert.equal(list.attempts, 0, 'a server that is known to be away is not asked for a list')
  const machine = await daemon.request('GET', '/api/v1/status', { token: csm })
  assert.equal(machine.status, 503, 'nobody can say whether its token is still good')

  await gap.close()
  await started(onPort)
  const back = (await sync()).last_sync
  const again = await asOwner<Status>(daemon, 'GET', '/api/v1/status')
  assert.deepEqual(
    [again.backend_reachable, again.backend_unreachable_since, again.not_working, again.waiting],
    [true, null, [], { verifications: 0, stamps: 0, rotations: 0 }],
  )
  assert.deepEqual([back.ok, back.error, back.pushed.verifications], [true, null, 1])
  assert.equal((await sync()).last_sync.pushed.verifications, 0)
  const log = await asOwner<{ items: object[] }>(daemon, 'GET', '/api/v1/verification-log')
  assert.equal(log.items.length, 1)
  assert.equal((await daemon.request('GET', '/api/v1/status', { token: csm })).status, 200)
})

it('the status answers while the account server accepts connections and stays silent', async (t) => {
  const port = await freePort()
  const server = await startDaemon({ SVC_ACCOUNT_PORT: String(port) })
  t.after(() => server.close())
  const daemon = await startDaemon({ SVC_BACKEND_URL: server.accountAddress })
  t.after(() => daemon.close())
  await signIn(daemon, server, 'gil@example.org')
  await asOwner(daemon, 'GET', rest.connections.list.path)
  await server.close()
  const mute = createServer((socket) => void socket.on('error', () => undefined).resume())
  const open = new Set<Socket>()
  mute.on('connection', (socket) => void open.add(socket))
  mute.listen(port, '127.0.0.1')
  await once(mute, 'listening')
  t.after(() => {
    for (const socket of open) socket.destroy()
    mute.close()
  })
  const list = daemon.request('GET', '/api/v1/connections', { token: daemon.owner() })
  await once(mute, 'connection')
  const answer = await asOwner<Status>(daemon, 'GET', '/api/v1/status')
  assert.match(answer.summary, /^Signed in to /)
  for (const socket of open) socket.destroy()
  mute.close()
  assert.equal((await list).status, 200, 'the list is a copy')
  const after = await asOwner<Status>(daemon, 'GET', '/api/v1/status')
  assert.equal(after.backend_reachable, false)
})
