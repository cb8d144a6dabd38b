/**
 * Bounds the response bytes that clients have not read yet. Bytes that the system does not accept
 * stay in memory until the client reads, so the sum over all connections is bounded. Beyond it,
 * the connection that has not read for longest is closed.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The most bytes that may wait on all connections of a listener. */
const MOST_UNREAD = 64 * 1024 * 1024

/**
 * Creates the counter of one listener.
 * @returns a function to call when a response was written completely; it counts the unsent bytes
 * until they are sent
 */
export function newUnread(): (socket: Socket, res: ServerResponse) => void {
  /** Unsent bytes by connection. A `Map` keeps its order, so the oldest comes first. */
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
