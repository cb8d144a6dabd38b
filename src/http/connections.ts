/**
 * Tracks a listener's TCP connections, and the pending responses of each.
 *
 * The number of connections is limited. At the limit, a new connection replaces the one that has
 * had no pending response for the longest time. Connections with a stream that lasts are not
 * counted: each belongs to a caller that was authenticated, and the row limits their number for a
 * caller. The number of bytes that clients have not read is
 * limited too. An orderly stop sends the pending responses and closes all other connections
 * immediately.
 */
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { elapsedMs } from '../elapsed.ts'

/** The number of a connection's pending responses. */
const OWED = Symbol('answers owed')
/** The number of bytes that had arrived when the connection's last response was sent. */
const READ = Symbol('bytes read')
/** The time (`elapsedMs`) since which the connection has had no pending response. */
const SINCE = Symbol('owed nothing since')
type Connection = Socket & { [OWED]?: number; [READ]?: number; [SINCE]?: number }

/** How long a stop waits for work of closed connections, in milliseconds. */
const LAST_WORDS_MS = 1_000
/** How often the age of connections without a pending response is checked, in milliseconds. */
const CHECK_MS = 1_000

interface ConnectionLimits {
  /** The maximum number of open connections. */
  readonly most: number
  /**
   * How long a connection may have no pending response, in milliseconds.
   *
   * Bytes that the connection sends do not extend this time.
   */
  readonly idleMs: number
}

interface Connections {
  /**
   * Counts a response as pending until it was sent or its connection has closed.
   * @param left called when the response is no longer pending
   */
  owe(
    socket: Socket,
    res: ServerResponse,
    left: (socket: Socket, res: ServerResponse) => void,
  ): void
  /** Does not count a connection until this response is sent: it is a stream that lasts. */
  lasts(socket: Socket, res: ServerResponse): void
  /** Registers work on a request. A stop waits for the work even if the connection has closed. */
  run(work: Promise<void>): void
  /** Returns the number of open connections. */
  open(): number
  /** Whether the server is stopping and accepts no more requests. */
  isStopping(): boolean
  /**
   * Stops the server: accepts no more connections and waits for the pending responses.
   *
   * After `graceMs`, all remaining connections are closed.
   */
  stop(graceMs: number): Promise<void>
}

/**
 * Tracks the connections of a server, which must not listen yet.
 *
 * Node's own mechanisms are not sufficient. `maxConnections` rejects the newest connection, so
 * silent connections could keep all others out. Its idle timeout starts again with each byte, even
 * with the blank lines that RFC 9112 section 2.2 permits before a request.
 */
export function newConnections(server: Server, { most, idleMs }: ConnectionLimits): Connections {
  const open = new Set<Connection>()
  /**
   * Connections without a pending response; the one that has waited longest comes first.
   *
   * A connection that has sent a part of a request gets no preference. Otherwise partial requests
   * would displace well-behaved connections.
   */
  const unowed = new Set<Connection>()
  /** Connections with a stream that lasts. */
  const lasting = new Set<Connection>()
  let stopping = false
  let running = 0
  let rested: () => void = () => undefined

  const done = () => {
    if (--running === 0) rested()
  }

  const rest = (socket: Connection) => {
    socket[SINCE] = elapsedMs()
    unowed.add(socket)
  }
  const forget = (socket: Connection) => {
    open.delete(socket)
    unowed.delete(socket)
    lasting.delete(socket)
  }
  const cut = (socket: Connection) => {
    forget(socket)
    socket.destroy()
  }

  server.on('connection', (socket: Connection) => {
    if (open.size - lasting.size >= most) {
      const [longest = socket] = unowed
      cut(longest)
      if (longest === socket) return
    }
    open.add(socket)
    rest(socket)
    socket.once('close', () => forget(socket))
  })

  const checking = setInterval(
    () => {
      const before = elapsedMs() - idleMs
      for (const socket of unowed) {
        if ((socket[SINCE] as number) > before) return
        cut(socket)
      }
    },
    Math.min(CHECK_MS, idleMs),
  ).unref()

  /** Whether a connection has no pending response and has sent no part of another request. */
  const isIdle = (socket: Connection) =>
    (socket[OWED] ?? 0) === 0 &&
    socket.bytesRead === (socket[READ] ?? 0) &&
    socket.readableLength === 0

  return {
    owe(socket, res, left) {
      const connection: Connection = socket
      connection[OWED] = (connection[OWED] ?? 0) + 1
      unowed.delete(connection)
      res.once('close', () => {
        left(socket, res)
        connection[OWED] = (connection[OWED] as number) - 1
        if (connection[OWED] > 0) return
        connection[READ] = connection.bytesRead
        if (open.has(connection)) rest(connection)
        if (stopping && connection.readableLength === 0) connection.destroySoon()
      })
    },

    lasts(socket, res) {
      if (!open.has(socket)) return
      lasting.add(socket)
      res.once('close', () => lasting.delete(socket))
    },

    run(work) {
      running++
      void work.then(done, done)
    },

    open: () => open.size,

    isStopping: () => stopping,

    async stop(graceMs) {
      stopping = true
      // `http.Server.close` would also cut responses that are complete but not yet sent.
      const ended = new Promise<void>((resolve) => {
        NetServer.prototype.close.call(server, () => resolve())
      })
      for (const socket of open) if (isIdle(socket)) socket.destroySoon()
      const late = setTimeout(() => {
        for (const socket of open) socket.destroy()
      }, graceMs)
      await ended
      clearTimeout(late)
      clearInterval(checking)
      // This only ends the server's timer.
      server.close()
      await new Promise<void>((resolve) => {
        const lastWords = setTimeout(resolve, LAST_WORDS_MS)
        rested = () => {
          clearTimeout(lastWords)
          resolve()
        }
        if (running === 0) rested()
      })
    },
  }
}

/** The maximum number of bytes that may wait to be sent, over all connections of a listener. */
const MOST_UNREAD = 64 * 1024 * 1024

/**
 * Limits the response bytes that clients have not read.
 *
 * Bytes that the operating system does not accept stay in memory until the client reads. If their
 * sum exceeds the limit, the connection that has not read for the longest time is closed.
 * @returns a function that must be called when a response was written completely; it counts the
 * unsent bytes until they are sent
 */
export function newUnread(): (socket: Socket, res: ServerResponse) => void {
  /** The unsent bytes by connection, oldest first. */
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
