/** `GET /api/v1/events`: what changes, as a stream and as JSON. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import * as v from 'valibot'
import { type StreamEvent, newEventReader } from '../../src/api/event-stream.ts'
import { EventPage } from '../../src/api/live/page.ts'
import type { Scope } from '../../src/auth/scopes.ts'
import { firstIdAt, newId } from '../../src/crypto/encoding/id.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'

interface Reading {
  readonly status: number
  /** The bytes so far, as text. */
  text(): string
  /** Waits for the next event. Rejects if the stream ends before. */
  next(): Promise<StreamEvent>
  /** Waits until the stream ends, and returns the events that were not taken. */
  ended(): Promise<StreamEvent[]>
  close(): void
}

/** Opens a stream. */
function read(
  { address }: TestDaemon,
  token: string,
  path = '/api/v1/events',
  headers: Record<string, string> = {},
): Promise<Reading> {
  return new Promise((resolve, reject) => {
    const req = request(`${address}${path}`, {
      headers: { Authorization: `Bearer ${token}`, ...headers },
    })
    req.once('error', reject)
    req.once('response', (res) => {
      const reader = newEventReader()
      const queue: StreamEvent[] = []
      let text = ''
      let isOver = false
      let wake: () => void = () => undefined
      res.on('data', (bytes: Buffer) => {
        text += bytes.toString()
        queue.push(...reader(bytes))
        wake()
      })
      res.on('error', () => undefined)
      res.once('close', () => {
        isOver = true
        wake()
      })
      const more = () =>
        new Promise<void>((woken) => {
          wake = woken
        })
      resolve({
        status: res.statusCode as number,
        text: () => text,
        async next() {
          while (queue.length === 0) {
            assert(!isOver, 'the stream ended')
            await more()
          }
          return queue.shift() as StreamEvent
        },
        async ended() {
          while (!isOver) await more()
          return queue
        },
        close: () => void req.destroy(),
      })
    })
    req.end()
  })
}

const dataOf = ({ data }: StreamEvent) =>
  JSON.parse(data) as { id: string; type: string; data: Record<string, string> }

type Page = v.InferOutput<typeof EventPage>

describe('events', () => {
  let daemon: TestDaemon
  let owner: string

  before(async () => {
    daemon = await startDaemon()
    owner = daemon.owner()
  })
  after(() => daemon.close())

  const page = async (query: string, token = owner): Promise<Page> => {
    const { status, json } = await daemon.request('GET', `/api/v1/events?${query}`, { token })
    assert.equal(status, 200, JSON.stringify(json))
    return v.parse(EventPage, json)
  }
  const now = async () => (await page('wait=0')).since
  const mint = async (name: string, scope: Scope = 'read', more = {}) => {
    const { json } = await daemon.request('POST', '/api/v1/token', {
      body: { name, scope, ...more },
    })
    return json as { id: string; token: string }
  }
  const revoke = async (id: string) => {
    const { status } = await daemon.request('DELETE', `/api/v1/api-tokens/${id}`, { token: owner })
    assert.equal(status, 204)
  }

  test('a stream shows what happens from now on, with an id, a type and data', async () => {
    await mint('before')
    const reading = await read(daemon, owner)
    const { id } = await mint('one')
    const event = dataOf(await reading.next())
    assert.deepEqual([event.type, event.data], ['token.created', { token_id: id, name: 'one' }])
    assert.match(reading.text(), new RegExp(`\nid: ${event.id}\nevent: token.created\ndata: {`))
    await revoke(id)
    assert.equal((await reading.next()).name, 'token.revoked')
    reading.close()
  })

  test('a reader that was away continues after the last event it has', async () => {
    const since = await now()
    const first = await mint('first')
    const second = await mint('second')
    const { items, since: next } = await page(`since=${since}&wait=0`)
    assert.deepEqual(
      items.map(({ data }) => (data as { token_id?: string }).token_id),
      [first.id, second.id],
    )
    assert.equal(items[1] !== undefined && 'id' in items[1] && items[1].id, next)
    const [one] = items
    assert(one !== undefined && 'id' in one)
    const reading = await read(daemon, owner, `/api/v1/events?since=${next}`, {
      'Last-Event-ID': one.id,
    })
    assert.equal(dataOf(await reading.next()).data['token_id'], second.id)
    reading.close()
    assert.deepEqual(await page(`since=${next}&wait=0`), { items: [], since: next })
  })

  test('the events since a time', async () => {
    const at = new Date().toISOString()
    const { id } = await mint('timed')
    const { items } = await page(`since=${at}&wait=0`)
    assert.deepEqual(
      items.map(({ data }) => (data as { token_id?: string }).token_id),
      [id],
    )
    assert.deepEqual((await page('since=2999-01-01T00:00:00Z&wait=0')).items, [])
  })

  test('a request waits for an event', async () => {
    const since = await now()
    const waiting = page(`since=${since}&wait=60`)
    const { id } = await mint('awaited')
    const { items } = await waiting
    assert.deepEqual(
      items.map(({ data }) => (data as { token_id?: string }).token_id),
      [id],
    )
  })

  test('only the types that were asked for, and the place moves past the others', async () => {
    const since = await now()
    const { id } = await mint('short')
    await revoke(id)
    await mint('later')
    const { items, since: next } = await page(`since=${since}&types=token.revoked&wait=0`)
    assert.deepEqual(
      items.map(({ type }) => type),
      ['token.revoked'],
    )
    assert.equal(next, await now())
    const all = await page(`since=${since}&types=token.*&wait=0`)
    assert.equal(all.items.length, 3)
    const reading = await read(daemon, owner, '/api/v1/events?types=token.revoked')
    await mint('unwanted')
    const last = await now()
    await page(`since=${last}&wait=1`)
    await revoke((await mint('wanted')).id)
    assert.equal((await reading.next()).name, 'token.revoked')
    assert.match(reading.text(), new RegExp(`id: evt_\\w{26}\n\n`))
    reading.close()
  })

  test('an event that is not stored here leads to a gap, which names the oldest event', async () => {
    const oldest = (await page(`since=${firstIdAt('evt_', 0)}&wait=0`)).items[0]
    assert(oldest !== undefined && 'id' in oldest)
    const unknown = newId('evt_', Date.now())
    const { items } = await page(`since=${unknown}&wait=0`)
    assert.deepEqual([items[0]?.type, items[0]?.data], ['gap', { oldest: oldest.id }])
    assert.deepEqual(items[1], oldest)
    const reading = await read(daemon, owner, `/api/v1/events?since=${unknown}`)
    assert.equal((await reading.next()).name, 'gap')
    assert.equal(dataOf(await reading.next()).id, oldest.id)
    reading.close()
  })

  for (const [query, path] of [
    ['since=evt_1', 'since'],
    ['since=yesterday', 'since'],
    ['types=nothing', 'types'],
    ['types=token', 'types'],
    ['types=', 'types'],
    ['wait=61', 'wait'],
    ['wait=-1', 'wait'],
  ] as const)
    test(`${query} is not valid`, async () => {
      const { status, json } = await daemon.request('GET', `/api/v1/events?${query}`, {
        token: owner,
      })
      assert.equal(status, 422)
      assert.equal((json as { issues: { path: string }[] }).issues[0]?.path, path)
    })

  test('a stream ends with its token', async () => {
    const revoked = await mint('revoked')
    const short = await mint('short', 'read', { expires_in: 1 })
    const readings = await Promise.all([read(daemon, revoked.token), read(daemon, short.token)])
    await revoke(revoked.id)
    const [first] = await Promise.all(readings.map((reading) => reading.ended()))
    // The event of the revocation itself is for those who may still read.
    assert(first?.every(({ name }) => name !== 'token.revoked'))
  })

  test('HEAD ends at once', async () => {
    const { status, headers } = await daemon.request('HEAD', '/api/v1/events', { token: owner })
    assert.deepEqual([status, headers['content-type']], [200, 'text/event-stream'])
  })

  test('each caller has a limited number of readers', async () => {
    const { token } = await mint('many')
    const readings: Reading[] = []
    for (let n = 0; n < 128; n++) readings.push(await read(daemon, token))
    const { status, headers } = await daemon.request('GET', '/api/v1/events', { token })
    assert.deepEqual([status, headers['retry-after']], [429, '10'])
    const other = await read(daemon, owner)
    assert.equal(other.status, 200)
    for (const reading of [...readings, other]) reading.close()
  })

  test('a daemon that stops ends its streams', async () => {
    const own = await startDaemon()
    const reading = await read(own, own.owner())
    await Promise.all([own.close(), reading.ended()])
  })
})
