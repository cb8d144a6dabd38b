/** How many notices a client gets, and what a client costs that does not read them. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { type TestContext, describe, it } from 'node:test'
import { EVENT_STREAM, eventText } from '../../src/api/event-stream.ts'
import { EVENT_TYPES } from '../../src/api/live/catalogue.ts'
import { newNotices } from '../../src/api/tools/notices.ts'
import { changedBy, listedResources } from '../../src/api/tools/resources.ts'
import { createMcpHandler, Server } from '../../src/api/tools/sdk.ts'
import { newSubscription } from '../../src/handlers/agents/mcp-stream.ts'
import { spoken } from './speaking.ts'

const URIS = listedResources.map(({ uri }) => uri)
const [EVENTS = '', CONNECTIONS = ''] = URIS
const STATUS = 'countersign://status'
const SECOND_MS = 1000

/** Lets time pass, and what then happens. */
async function pass(t: TestContext, ms: number): Promise<void> {
  t.mock.timers.tick(ms)
  for (let turn = 0; turn < 10; turn++) await setImmediate()
}

describe('notices', () => {
  it('a storm causes one for each resource at once, and then one in a second', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const sent: string[] = []
    const { add, end } = newNotices(async (uri) => void sent.push(uri))
    for (let n = 0; n < 1000; n++) {
      add([EVENTS, CONNECTIONS])
      await pass(t, 10)
    }
    assert.equal(sent.length, 2 * 10)
    await pass(t, SECOND_MS)
    const all = sent.length
    assert.equal(all, 2 * 11, 'the last change has a notice too')
    await pass(t, 10 * SECOND_MS)
    assert.equal(sent.length, all, 'nothing changed')
    add([EVENTS])
    await pass(t, 0)
    assert.deepEqual(sent.slice(all), [EVENTS], 'after a pause, a notice is sent at once')
    add([EVENTS])
    end()
    await pass(t, SECOND_MS)
    assert.equal(sent.length, all + 1, 'nothing is sent after the end')
  })
})

describe('a client that does not read its stream', () => {
  it('costs one notice, and gets one for each resource when it reads again', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let waiting = Promise.withResolvers<Uint8Array>()
    const body: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: await waiting.promise }),
      }),
    }
    const { bus, isOpen, notify } = newSubscription()
    const handler = createMcpHandler(
      () =>
        new Server(
          { name: 't', version: '0' },
          { capabilities: { resources: { subscribe: true } } },
        ),
      { bus, keepAliveMs: 0 },
    )
    const { message, headers } = spoken('modern', {
      method: 'subscriptions/listen',
      params: { notifications: { resourceSubscriptions: URIS } },
    })
    const response = await handler.fetch(
      new Request('http://127.0.0.1/mcp', {
        method: 'POST',
        headers: { ...headers, 'Content-Type': 'application/json' },
        body: JSON.stringify(message),
      }),
    )
    assert(isOpen())
    const stream = await notify(
      async () => ({ value: { type: EVENT_STREAM, body }, media: true }),
      new Set(URIS),
      response.body as ReadableStream<Uint8Array>,
      () => undefined,
    )
    const reader = stream[Symbol.asyncIterator]()
    const decoder = new TextDecoder()
    const next = async () => decoder.decode((await reader.next()).value as Uint8Array)
    assert.match(await next(), /subscriptions\/acknowledged/)
    for (let n = 0; n < 100; n++) {
      waiting.resolve(Buffer.from(EVENT_TYPES.map((type) => eventText(type, {})).join('')))
      waiting = Promise.withResolvers()
      await pass(t, SECOND_MS)
    }
    const published: string[] = []
    for (let n = 0; n < 2 * URIS.length; n++) {
      published.push(/countersign:[\w/-]+/.exec(await next())?.[0] ?? '')
      await pass(t, SECOND_MS)
    }
    assert.deepEqual(published.slice(0, URIS.length).toSorted(), URIS.toSorted())
    const more = next()
    await pass(t, 10 * SECOND_MS)
    assert.equal(await Promise.race([more, setImmediate('silent')]), 'silent')
    await reader.return?.()
    assert(!isOpen())
  })
})

it('each event of a resource concerns that resource, or the status, and all concern the events', () => {
  for (const type of EVENT_TYPES) {
    const [first, ...more] = changedBy(type)
    assert.equal(first, EVENTS)
    assert(more.filter((uri) => uri !== STATUS).length <= 1, type)
  }
  assert.deepEqual(changedBy('member.left'), [EVENTS, CONNECTIONS])
  assert.deepEqual(changedBy('sync.done'), [EVENTS, STATUS])
  assert.deepEqual(changedBy('stamp.created'), [EVENTS])
  for (const mark of ['gap', 'overflow']) assert.deepEqual(changedBy(mark), URIS)
})
