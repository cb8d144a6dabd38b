/**
 * Tests what an event stream delivers to a client that half-closed.
 * It delivers all of the stream, with comments only between events.
 */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { eventReader } from '../../src/http/reply.ts'

/**
 * Returns an event reader with a stopped clock. Its functions return what it delivered since the
 * last call.
 */
function readerOf(t: TestContext, isEnded = false) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const socket = Object.assign(new EventEmitter(), { readableEnded: isEnded })
  const reader = eventReader({ req: { socket } } as unknown as ServerResponse)
  const given = () => String(reader.read() ?? '')
  const waits = () => {
    t.mock.timers.tick(1000)
    return given()
  }
  const comes = (text: string) => {
    reader.write(text)
    return given()
  }
  return { socket, reader, waits, comes, given }
}
const COMMENTS = /^(?::\n\n)+$/

test('a client that keeps both ends open gets only the bytes of the stream', (t) => {
  const { waits, comes } = readerOf(t)
  assert.equal(comes('data: one\n\n'), 'data: one\n\n')
  assert.equal(waits(), '')
})

for (const end of ['\n\n', '\r\n\r\n', '\r\r'])
  test(`comments come between events that end with ${JSON.stringify(end)}, and never within one`, (t) => {
    const { socket, waits, comes } = readerOf(t)
    assert.equal(comes('data: o'), 'data: o')
    socket.emit('end')
    assert.equal(waits(), '')
    for (const byte of `ne${end.slice(0, -1)}`) {
      assert.equal(comes(byte), byte)
      assert.equal(waits(), '')
    }
    assert.equal(comes(end.slice(-1)), end.slice(-1))
    assert.match(waits(), COMMENTS)
    assert.equal(comes(`data: two${end}`), `data: two${end}`)
    assert.match(waits(), COMMENTS)
    assert.equal(comes('d'), 'd')
    assert.equal(waits(), '')
  })

test('comments come before the first event to a client that half-closed earlier', (t) => {
  assert.match(readerOf(t, true).waits(), COMMENTS)
})

test('no comment is added behind unread data', (t) => {
  const { reader, socket } = readerOf(t)
  socket.emit('end')
  reader.write('data: one\n\n')
  t.mock.timers.tick(60_000)
  assert.equal(String(reader.read()), 'data: one\n\n')
})

for (const how of ['ends', 'is destroyed'] as const)
  test(`a stream that ${how} leaves nothing behind on its connection`, async (t) => {
    const { reader, socket, given } = readerOf(t)
    const over = new Promise((resolve) => reader.once('close', resolve))
    if (how === 'ends') {
      reader.end('data: one\n\n')
      assert.equal(given(), 'data: one\n\n')
      reader.resume()
    } else reader.destroy()
    await over
    assert.equal(socket.listenerCount('end'), 0)
    socket.emit('end')
    t.mock.timers.tick(60_000)
    assert.equal(given(), '')
  })
