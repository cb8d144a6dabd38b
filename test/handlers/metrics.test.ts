/** The metrics of a daemon, and what it depends on. */
import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { rowsOf } from '../../src/api/rows.ts'
import { apiTable } from '../../src/daemon/daemon.ts'
import { type Answer, ask, startDaemon, type TestDaemon } from '../daemon.ts'
import { samplesIn, valueOf } from '../metrics/samples.ts'

let daemon: TestDaemon
let token: string

before(async () => {
  daemon = await startDaemon()
  token = await daemon.token('read')
})
after(() => daemon.close())

const read = (headers: Record<string, string> = {}) =>
  daemon.request('GET', '/metrics', { token, headers })

describe('GET /metrics', () => {
  test('it is OpenMetrics', async () => {
    const { status, headers, text } = await read()
    assert.equal(status, 200)
    assert.equal(
      headers['content-type'],
      'application/openmetrics-text; version=1.0.0; charset=utf-8',
    )
    assert.match(text, /^# TYPE countersign_http_requests counter$/m)
    assert.match(text, /^countersign_http_requests_total\{/m)
    assert(text.endsWith('\n# EOF\n'))
    assert.equal(valueOf(text, 'countersign_build_info'), 1)
    assert.equal(valueOf(text, 'countersign_keychain_info', { backend: 'file' }), 1)
    assert(valueOf(text, 'process_resident_memory_bytes') > 0)
  })

  test('a client of the older format gets it, also after OpenMetrics was sent', async () => {
    const { headers, text } = await read({ Accept: 'text/plain' })
    assert.equal(headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    assert.match(text, /^# TYPE countersign_http_requests_total counter$/m)
    assert.match(text, /^# TYPE process_cpu_seconds_total counter$/m)
    assert(!text.includes('# EOF'))
  })

  test('what Prometheus accepts is OpenMetrics', async () => {
    const Accept =
      'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
    const { headers } = await read({ Accept })
    assert.match(headers['content-type'] ?? '', /^application\/openmetrics-text/)
  })

  for (const method of ['GET', 'HEAD'])
    test(`${method} without a token is rejected`, async () => {
      const { status, headers } = await daemon.request(method, '/metrics')
      assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer'])
    })

  test('the account server inside a daemon has none', async () => {
    const statuses = [undefined, token].map(async (given) => {
      const question = given === undefined ? {} : { token: given }
      return (await ask(daemon.accountAddress, 'GET', '/metrics', question)).status
    })
    assert.deepEqual(await Promise.all(statuses), [401, 401])
  })

  test('requests count by their route, and their status', async () => {
    const labels = { method: 'GET', route: '/api/v1/connections/{id}' }
    const counted = async (status: string) =>
      valueOf((await read()).text, 'countersign_http_requests_total', { ...labels, status })
    const [missing, unknown] = [await counted('404'), await counted('401')]
    for (const id of ['con_1', 'con_2', 'con_3'])
      await daemon.request('GET', `/api/v1/connections/${id}`, { token })
    await daemon.request('GET', '/api/v1/connections/con_1')
    assert.equal((await counted('404')) - missing, 3)
    assert.equal((await counted('401')) - unknown, 1)
    const { text } = await read()
    const name = 'countersign_http_request_duration_seconds'
    const all = valueOf(text, `${name}_count`, labels)
    assert.equal(valueOf(text, `${name}_bucket`, { ...labels, le: '+Inf' }), all)
    assert.equal(valueOf(text, 'countersign_http_requests_total', labels), all)
  })

  test('checks of words, syncs, queries, commits and operations of the keychain count', async () => {
    const names: [name: string, labels: Record<string, string>][] = [
      ['countersign_verifications_total', { method: 'local' }],
      ['countersign_syncs_total', { trigger: 'request', result: 'succeeded' }],
      ['countersign_sync_duration_seconds_count', {}],
      ['countersign_database_query_duration_seconds_count', { engine: 'sqlite' }],
      ['countersign_state_commit_duration_seconds_count', {}],
      ['countersign_keychain_operations_total', { operation: 'set', result: 'succeeded' }],
    ]
    const first = (await read()).text
    const write = await daemon.token('write')
    const body = { words: 'matador carload recede' }
    await daemon.request('POST', '/api/v1/verify', { token: write, body })
    await daemon.request('POST', '/api/v1/sync', { token: write })
    const { text } = await read()
    for (const [name, labels] of names)
      assert(valueOf(text, name, labels) > valueOf(first, name, labels), name)
    const at = valueOf(text, 'countersign_sync_last_success_timestamp_seconds')
    assert(Math.abs(Date.now() / 1000 - at) < 3600)
  })

  test('an open stream counts until it is closed', async () => {
    const open = async () =>
      valueOf((await read()).text, 'countersign_http_open_streams', { route: '/api/v1/events' })
    const { hostname, port } = new URL(daemon.address)
    const socket = connect(Number(port), hostname)
    const lines = [
      'GET /api/v1/events HTTP/1.1',
      `Host: ${hostname}:${port}`,
      `Authorization: Bearer ${token}`,
      'Accept: text/event-stream',
    ]
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    await new Promise((resolve) => socket.once('data', resolve))
    assert.equal(await open(), 1)
    socket.destroy()
    while ((await open()) !== 0) await new Promise((resolve) => setImmediate(resolve))
  })

  test('refusals of the guard count by their reason', async () => {
    const refused = async (code: string) =>
      valueOf((await read()).text, 'countersign_guard_refusals_total', { code })
    const asked: [code: string, headers: Record<string, string>][] = [
      ['host_not_allowed', { Host: 'evil.example' }],
      ['origin_not_allowed', { Origin: 'https://evil.example' }],
    ]
    for (const [code, headers] of asked) {
      const earlier = await refused(code)
      await daemon.request('GET', '/health', { headers })
      assert.equal((await refused(code)) - earlier, 1, code)
    }
  })
})

/** Sends bytes, and waits until the connection is closed. */
async function sendRaw(text: string): Promise<void> {
  const { hostname, port } = new URL(daemon.address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined).resume()
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.end(text)
  await closed
}

describe('hostile requests', () => {
  const CANARY = 'canary-7351'
  /** Requests of one kind, each with other texts of the caller. */
  const hostile: ((n: number) => Promise<unknown>)[] = [
    (n) => daemon.request('GET', `/${CANARY}/${n}`),
    (n) => daemon.request('GET', `/${CANARY}/${n}`, { token }),
    (n) => daemon.request('GET', `/api/v1/connections/${CANARY}${n}`, { token }),
    (n) => daemon.request('POST', `/api/v1/${CANARY}${n}`, { token }),
    (n) => daemon.request('GET', `/api/v1/tags?${CANARY}${n}=1`, { token }),
    (n) => daemon.request('GET', '/health', { headers: { Host: `${CANARY}${n}.example` } }),
    (n) => daemon.request('GET', '/health', { headers: { Origin: `https://${CANARY}${n}` } }),
    (n) => daemon.request('GET', '/api/v1/tags', { token: `${CANARY}${n}` }),
    (n) => daemon.request('GET', `/${CANARY}"${n}\\`, { token }),
    (n) => daemon.request(['PROPFIND', 'TRACE', 'M-SEARCH'][n % 3]!, `/${CANARY}${n}`, { token }),
    (n) => sendRaw(`${CANARY.toUpperCase()}${n} / HTTP/1.1\r\nHost: x\r\n\r\n`),
    (n) => sendRaw(`CONNECT ${CANARY}${n}:1 HTTP/1.1\r\nHost: ${CANARY}${n}:1\r\n\r\n`),
  ]
  const send = async (from: number, count: number) => {
    for (let n = from; n < from + count; n++) for (const one of hostile) await one(n)
  }

  test('they add no series, and nothing that a caller sent is in a label', async () => {
    await send(0, 3)
    const before = samplesIn((await read()).text).filter(({ name }) => name.startsWith('counters'))
    await send(3, 20)
    const { text } = await read()
    const later = samplesIn(text).filter(({ name }) => name.startsWith('counters'))
    const named = (samples: typeof later) =>
      samples.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`)
    assert.deepEqual(named(later), named(before))
    assert(!text.toLowerCase().includes(CANARY))
  })

  test('each route in a label is a path of a table, or none', async () => {
    const paths = new Set(['none', ...rowsOf(apiTable).map(({ route }) => route.path as string)])
    const found = samplesIn((await read()).text).flatMap(({ labels }) => labels['route'] ?? [])
    assert(found.length > 0)
    for (const route of found) assert(paths.has(route), route)
  })

  test('no label has an id, an address or a name', async () => {
    const write = await daemon.token('write')
    const made = await daemon.request('POST', '/api/v1/connections', {
      token: write,
      body: { name: CANARY },
    })
    const { id } = made.json as { id: string }
    await daemon.request('GET', `/api/v1/connections/${id}`, { token })
    const { user } = (await daemon.request('GET', '/api/v1/context', { token })).json as {
      user: { id: string }
    }
    const { text } = await read()
    for (const secret of [id, user.id, CANARY, token, daemon.stateDir, '127.0.0.1'])
      assert(!text.includes(secret), secret)
  })
})

describe('GET /health/ready', () => {
  const ready = (path = '/health/ready') => daemon.request('GET', path, { token })
  const services = ({ json }: Answer) =>
    Object.fromEntries(
      (json as { dependencies: { service: string; status: string }[] }).dependencies.map(
        ({ service, status }) => [service, status],
      ),
    )

  test('it lists what the daemon depends on', async () => {
    const answer = await ready()
    assert.equal(answer.status, 200)
    const { name, status, version } = answer.json as Record<string, string>
    assert.deepEqual([name, status], ['Countersign daemon', 'ok'])
    assert.match(version ?? '', /^\d/)
    assert.deepEqual(services(answer), {
      state_folder: 'active',
      keychain: 'active',
      account: 'active',
      account_server: 'active',
      clock: 'active',
      sync: 'active',
      database: 'active',
      mail: 'active',
    })
    assert.deepEqual((await ready('/api/v1/health/ready')).status, 200)
  })

  test('it needs a token', async () => {
    assert.equal((await daemon.request('GET', '/health/ready')).status, 401)
  })

  test('a metric has the same', async () => {
    const { text } = await read()
    assert.equal(valueOf(text, 'countersign_dependency_up', { service: 'database' }), 1)
    assert.equal(valueOf(text, 'countersign_dependency_up', { service: 'keychain' }), 1)
  })

  // Root may write everywhere.
  const skip = process.getuid?.() === 0 && 'root may write to every folder'
  test('without a writable state folder it is not ready', { skip }, async (t) => {
    chmodSync(daemon.stateDir, 0o500)
    t.after(() => chmodSync(daemon.stateDir, 0o700))
    let answer = await ready()
    while (answer.status === 200) answer = await ready()
    assert.deepEqual(
      [answer.status, (answer.json as { error: string }).error],
      [507, 'storage_full'],
    )
    assert.equal(services(answer)['state_folder'], 'down')
  })
})
