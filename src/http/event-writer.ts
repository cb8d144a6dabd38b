/**
 * Writes event streams (WHATWG HTML section 9.2), and detects clients that have disconnected.
 *
 * Only a write shows that a connection is broken, and a stream may have nothing to write for a long
 * time. Therefore comments are added between events.
 */
import type { ServerResponse } from 'node:http'
import { EVENT_COMMENT } from '../api/event-stream.ts'

/** How often a comment is written, in milliseconds. */
const BEAT_MS = 20_000
/**
 * How often a comment is written to a half-closed client, in milliseconds.
 *
 * Such a client has either disconnected or still waits for the response, as `nc -N` does. If it has
 * disconnected, the second write fails.
 */
const HALF_CLOSED_BEAT_MS = 250
const END_OF_EVENT = /(?:\n\n|\r\n\r\n|\r\r)$/
const DONE = { done: true, value: undefined } as const

/** The part of a response that this module uses. */
type EventResponse = Pick<
  ServerResponse,
  'write' | 'end' | 'once' | 'off' | 'destroyed' | 'writableLength'
> & {
  readonly req: {
    readonly socket: Pick<ServerResponse['req']['socket'], 'readableEnded' | 'once' | 'off'>
  }
}

/**
 * Writes the bytes of an event stream unchanged, with comments between events, and takes more only
 * after they were sent. If the client disconnects, the stream is ended.
 *
 * A pipeline of streams would need twice the memory, and an account server has a stream for each
 * device.
 * @returns when the stream has ended or the client has disconnected
 * @throws the error of the stream; then the response is not complete
 */
export async function writeEvents(
  res: EventResponse,
  body: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { socket } = res.req
  const events = body[Symbol.asyncIterator]()
  /** The last four bytes, which is the length of the longest end of an event. */
  let last = '\n\n'
  let closed: () => void = () => undefined

  const beat = () => {
    // No comment is needed while the client has unread bytes, because they also test the
    // connection.
    if (END_OF_EVENT.test(last) && res.writableLength === 0) res.write(EVENT_COMMENT)
  }
  let beats = setInterval(beat, BEAT_MS)
  const beatFaster = () => {
    clearInterval(beats)
    beats = setInterval(beat, HALF_CLOSED_BEAT_MS)
  }
  const leave = () => {
    closed()
    void events.return?.()
  }
  const next = () =>
    new Promise<IteratorResult<Uint8Array, undefined>>((resolve, reject) => {
      closed = () => resolve(DONE)
      events.next().then(resolve, reject)
    })
  const sent = () =>
    new Promise<void>((resolve) => {
      closed = resolve
      res.once('drain', resolve)
    })

  if (socket.readableEnded) beatFaster()
  else socket.once('end', beatFaster)
  res.once('close', leave)
  try {
    for (;;) {
      const { done, value } = await next()
      if (res.destroyed) return
      if (done === true) break
      const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
      last = (last + bytes.toString('latin1', Math.max(0, bytes.length - 4))).slice(-4)
      if (!res.write(bytes)) await sent()
    }
    res.end()
  } finally {
    clearInterval(beats)
    socket.off('end', beatFaster)
    res.off('close', leave)
  }
}
