/**
 * Two account servers on one PostgreSQL: both accept the sessions and proofs that either has
 * seen. Also tests how they behave while the database is unreachable.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { askProven, proven, signIn, startAccountServer } from './account-server.ts'
import type { Answer } from './daemon.ts'
import { newDatabase } from './service/shared-postgres.ts'
import { until } from './until.ts'

const says = ({ status, json }: Answer) =>
  `${status} ${String((json as { error?: string } | undefined)?.error ?? '')}`.trim()

const PUBLIC = 'https://accounts.example'
const PATH = '/api/v1/context'

/** Starts two replicas behind one address. */
async function replicas(t: Parameters<typeof startAccountServer>[0], url: string) {
  const env = { SVC_DATABASE_URL: url, SVC_PUBLIC_URL: PUBLIC }
  const [a, b] = [await startAccountServer(t, env), await startAccountServer(t, env)]
  const behind = (server: typeof a) => ({
    ...server,
    address: PUBLIC,
  })
  return [behind(a), behind(b)] as const
}

test('a session works at both replicas, and a proof works once for both', async (t) => {
  const [a, b] = await replicas(t, await newDatabase())
  const { credentials, id } = await signIn(a, 'ada@example.org')
  const there = await askProven(b, 'GET', PATH, credentials)
  assert.equal((there.json as { user: { id: string } }).user.id, id)
  const nonce = there.headers['dpop-nonce'] as string
  const headers = await proven(a, 'GET', PATH, credentials, { nonce })
  assert.equal((await a.request('GET', PATH, { headers })).status, 200)
  assert.equal(says(await b.request('GET', PATH, { headers })), '401 invalid_token')
})

test('fifty equal requests to two replicas: one operation', async (t) => {
  const [a, b] = await replicas(t, await newDatabase())
  const { credentials } = await signIn(a, 'ada@example.org')
  const post = (i: number) =>
    askProven([a, b][i % 2]!, 'POST', '/api/v1/org', credentials, {
      body: { name: 'Example' },
      headers: { 'Idempotency-Key': 'k' },
    })
  const all = await Promise.all(Array.from({ length: 50 }, (_, i) => post(i)))
  const made = all.filter(({ status }) => status === 201)
  assert.equal(new Set(made.map(({ text }) => text)).size, 1)
  for (const answer of all) if (answer.status !== 201) assert.equal(says(answer), '409 in_progress')
  assert.equal((await post(0)).text, made[0]?.text)
  assert.equal((await post(1)).text, made[0]?.text)
})

/** Starts a TCP proxy to the database that a test can cut and restore. */
async function wireTo(url: string) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let cut = false
  const proxy = createServer((near) => {
    if (cut) return void near.destroy()
    const far = connect(Number(port), hostname)
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = new URL(url)
  address.port = String((proxy.address() as AddressInfo).port)
  return {
    url: address.href,
    async cut() {
      cut = true
      const gone = [...sockets].map((socket) => once(socket, 'close'))
      for (const socket of sockets) socket.destroy()
      await Promise.all(gone)
    },
    mend: () => void (cut = false),
    close: () => proxy.close(),
  }
}

test('without its database it stays alive and is not ready; later it is ready again, with the same session', async (t) => {
  const wire = await wireTo(await newDatabase())
  t.after(() => wire.close())
  const server = await startAccountServer(t, { SVC_DATABASE_URL: wire.url })
  const { credentials } = await signIn(server, 'ada@example.org')
  const status = async (path: string) => (await server.request('GET', path)).status
  assert.deepEqual([await status('/health'), await status('/health/ready')], [200, 200])
  await wire.cut()
  assert.equal(await status('/health'), 200)
  // The result of an examination is kept for a second.
  const ready = await until('the server is not ready', async () => {
    const answer = await server.request('GET', '/health/ready')
    return answer.status === 200 ? null : answer
  })
  assert.equal(says(ready), '503 backend_unavailable')
  assert.doesNotMatch(ready.text, /127\.0\.0\.1|postgres|secret/)
  const refused = await askProven(server, 'GET', PATH, credentials)
  assert.equal(says(refused), '503 backend_unavailable')
  wire.mend()
  await until('the server is ready again', async () => (await status('/health/ready')) === 200)
  assert.equal((await askProven(server, 'GET', PATH, credentials)).status, 200)
})
