/** What the client of an event stream gets: all of the stream, and comments between events. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { type TestContext, test } from 'node:test'
import { writeEvents } from '../../src/http/event-writer.ts'

/** Returns a source that the test controls. */
function newSource() {
  const queue: (string | null | Error)[] = []
  let wake: () => void = () => undefined
  let isLeft = false
  const put = (text: string | null | Error) => {
    queue.push(text)
    wake()
  }
  const body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        while (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve))
        const text = queue.shift() as string | null | Error
        if (text instanceof Error) throw text
        return text === null
          ? { done: true, value: undefined }
          : { done: false, value: Buffer.from(text) }
      },
      async return() {
        isLeft = true
        return { done: true, value: undefined }
      },
    }),
  }
  return { body, put, isLeft: () => isLeft, waiting: () => queue.length }
}

/**
 * Writes a stream with a stopped clock. The functions return what was written since the last call.
 */
function writerOf(t: TestContext, { isEnded = false, holds = 1 << 16 } = {}) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const socket = Object.assign(new EventEmitter(), { readableEnded: isEnded })
  const res = Object.assign(
    new PassThrough({ readableHighWaterMark: holds, writableHighWaterMark: holds }),
    { req: { socket } },
  )
  const source = newSource()
  const over = writeEvents(res as never, source.body)
  const given = async () => {
    await setImmediate()
    return String(res.read() ?? '')
  }
  const waits = (ms = 1000) => {
    t.mock.timers.tick(ms)
    return given()
  }
  const comes = (text: string) => {
    source.put(text)
    return given()
  }
  return { socket, res, source, over, waits, comes, given }
}
const COMMENTS = /^(?::\n\n)+$/

test('a client that keeps both ends open gets a comment every 20 seconds, between events', async (t) => {
  const { waits, comes } = writerOf(t)
  assert.equal(await waits(19_999), '')
  assert.equal(await waits(1), ':\n\n')
  assert.equal(await comes('data: o'), 'data: o')
  assert.equal(await waits(20_000), '')
  assert.equal(await comes('ne\n\n'), 'ne\n\n')
  assert.equal(await waits(20_000), ':\n\n')
})

for (const end of ['\n\n', '\r\n\r\n', '\r\r'])
  test(`comments come between events that end with ${JSON.stringify(end)}, and never within one`, async (t) => {
    const { socket, waits, comes } = writerOf(t)
    assert.equal(await comes('data: o'), 'data: o')
    socket.emit('end')
    assert.equal(await waits(), '')
    for (const byte of `ne${end.slice(0, -1)}`) {
      assert.equal(await comes(byte), byte)
      assert.equal(await waits(), '')
    }
    assert.equal(await comes(end.slice(-1)), end.slice(-1))
    assert.match(await waits(), COMMENTS)
    assert.equal(await comes(`data: two${end}`), `data: two${end}`)
    assert.match(await waits(), COMMENTS)
    assert.equal(await comes('d'), 'd')
    assert.equal(await waits(), '')
  })

test('comments come before the first event to a client that half-closed earlier', async (t) => {
  assert.match(await writerOf(t, { isEnded: true }).waits(), COMMENTS)
})

test('more is taken from the stream only after the client has read', async (t) => {
  const { source, given } = writerOf(t, { holds: 8 })
  for (const text of ['data: one\n\n', 'data: two\n\n', 'data: three\n\n']) source.put(text)
  await setImmediate()
  assert(source.waiting() > 0)
  let came = ''
  while (!came.endsWith('three\n\n')) came += await given()
  assert.equal(came, 'data: one\n\ndata: two\n\ndata: three\n\n')
})

test('a stream that ends leaves nothing behind on its connection', async (t) => {
  const { source, socket, res, over, comes, waits } = writerOf(t)
  assert.equal(await comes('data: one\n\n'), 'data: one\n\n')
  source.put(null)
  await over
  assert(res.writableEnded)
  assert.equal(socket.listenerCount('end'), 0)
  socket.emit('end')
  assert.equal(await waits(), '')
})

test('the stream is ended if the client disconnects, also while it has nothing to write', async (t) => {
  const { source, socket, res, over } = writerOf(t)
  res.destroy()
  await over
  assert(source.isLeft())
  assert.equal(socket.listenerCount('end'), 0)
})

test('a stream that fails is not completed', async (t) => {
  const { source, res, over } = writerOf(t)
  source.put(new Error('torn'))
  await assert.rejects(over, /torn/)
  assert(!res.writableEnded)
})
