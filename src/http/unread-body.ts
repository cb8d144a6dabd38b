/**
 * The answers that clients have not read yet. What the system does not take of an answer stays in
 * memory until the client reads, so the sum over all connections is bounded: beyond it, the
 * connection that has not read for longest is cut.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The most bytes that wait on all connections of a listener. */
const MOST_UNREAD = 64 * 1024 * 1024

/**
 * Keep count for one listener.
 * @returns to be called when an answer was written whole: counts what was not taken of it, until it
 *   has left
 */
export function newUnread(): (socket: Socket, res: ServerResponse) => void {
  /** In bytes; a `Map` keeps the order, so the oldest comes first. */
  const waiting = new Map<Socket, number>()
  let sum = 0
  const forget = (socket: Socket) => {
    sum -= waiting.get(socket) ?? 0
    waiting.delete(socket)
  }
  return (socket, res) => {
    const bytes = socket.writableLength
    if (bytes === 0) return
    forget(socket)
    waiting.set(socket, bytes)
    sum += bytes
    res.once('close', () => forget(socket))
    for (const [oldest] of waiting) {
      if (sum <= MOST_UNREAD) return
      forget(oldest)
      oldest.destroy()
    }
  }
}
