/**
 * Readers of event streams. Whoever closes the writing end of a connection may have left, or may be waiting for the answer, as
 * `nc -N` does: only what is written to him tells, and for long there may be nothing to write.
 */
import type { ServerResponse } from 'node:http'
import { Transform } from 'node:stream'

/** How often such a reader is written to. What one who left is written a second time, fails. */
const EVERY_MS = 250
/** Which readers pass over (WHATWG HTML section 9.2.6). */
const COMMENT = ':\n\n'
const END_OF_EVENT = /(?:\n\n|\r\n\r\n|\r\r)$/

/**
 * Passes the bytes of an event stream on unchanged, and between events a comment now and then to a reader who closed his writing end:
 * then a connection that leads to nobody is cut.
 */
export function eventReader({ req: { socket } }: ServerResponse): Transform {
  /** The last bytes, as many as an event may end with. */
  let last = '\n\n'
  let asking: NodeJS.Timeout | undefined
  const ask = () => {
    // What was not taken yet asks as well.
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
