/**
 * Detects readers of event streams that have left. A client that half-closes its connection may
 * have left, or may wait for the response, as `nc -N` does. Only a write shows which, and the
 * stream may have nothing to write for a long time.
 */
import type { ServerResponse } from 'node:http'
import { Transform } from 'node:stream'

/**
 * How often such a reader is written to, in milliseconds. The second write to a reader that left
 * fails.
 */
const EVERY_MS = 250
/** A comment, which readers ignore (WHATWG HTML section 9.2.6). */
const COMMENT = ':\n\n'
const END_OF_EVENT = /(?:\n\n|\r\n\r\n|\r\r)$/

/**
 * Returns a transform that passes the bytes of an event stream on unchanged. After the reader
 * half-closes, it adds comments between events, so that a connection without a reader is closed.
 */
export function eventReader({ req: { socket } }: ServerResponse): Transform {
  /** The last bytes, as many as the longest end of an event has. */
  let last = '\n\n'
  let asking: NodeJS.Timeout | undefined
  const ask = () => {
    // Bytes that the client has not read yet test the connection as well.
    if (END_OF_EVENT.test(last) && reader.readableLength === 0) reader.push(COMMENT)
  }
  const begin = () => {
    asking = setInterval(ask, EVERY_MS)
  }
  const stop = () => {
    clearInterval(asking)
    socket.off('end', begin)
  }
  const reader = new Transform({
    transform(bytes: Buffer, _encoding, done) {
      last = (last + bytes.toString('latin1', Math.max(0, bytes.length - 4))).slice(-4)
      done(null, bytes)
    },
    flush(done) {
      stop()
      done()
    },
    destroy(error, done) {
      stop()
      done(error)
    },
  })
  if (socket.readableEnded) begin()
  else socket.once('end', begin)
  return reader
}
