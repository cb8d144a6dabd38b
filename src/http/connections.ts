/**
 * Tracks the connections of a listener and the pending responses of each. The number of connections
 * is bounded: at the limit, a new connection replaces the one that has had no pending response for
 * longest. The bytes that clients have not read yet are bounded, too. An orderly stop sends the
 * pending responses and closes the other connections at once.
 */
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

/** The number of pending responses of a connection. */
const OWED = Symbol('answers owed')
/** The bytes that had arrived when the last of its responses was sent. */
const READ = Symbol('bytes read')
/** Since when it has had no pending response, by `performance.now()`. */
const SINCE = Symbol('owed nothing since')
type Connection = Socket & { [OWED]?: number; [READ]?: number; [SINCE]?: number }

/** How long a stop waits for work on closed connections to end, in milliseconds. */
const LAST_WORDS_MS = 1_000
/**
 * How often connections without a pending response are checked for their age, in milliseconds.
 */
const CHECK_MS = 1_000

interface ConnectionLimits {
  /** The maximum number of open connections. */
  readonly most: number
  /**
   * How long a connection may have no pending response, in milliseconds, even if it sends bytes
   * meanwhile.
   */
  readonly idleMs: number
}

interface Connections {
  /**
   * Counts a response on this connection as pending until it was sent or the connection has
   * closed.
   * @param left called at that time
   */
  owe(
    socket: Socket,
    res: ServerResponse,
    left: (socket: Socket, res: ServerResponse) => void,
  ): void
  /** Registers work on a request. A stop waits for it even if its connection was closed. */
  run(work: Promise<void>): void
  /** Returns whether the server is stopping and accepts nothing new. */
  isStopping(): boolean
  /**
   * Accepts no more connections, waits for pending responses for at most `graceMs`, then closes
   * the rest.
   */
  stop(graceMs: number): Promise<void>
}

/**
 * Tracks the connections of a server that does not listen yet.
 *
 * Node's own limit (`maxConnections`) would reject the newest connection, so that silent
 * connections could keep all others out. Its idle timeout starts again with each byte, also with
 * the blank lines that RFC 9112 section 2.2 allows before a request.
 */
export function newConnections(server: Server, { most, idleMs }: ConnectionLimits): Connections {
  const open = new Set<Connection>()
  /**
   * Connections without a pending response, the longest first. A connection that has sent a part
   * of a request is ordered by the same rule, or partial requests would displace well-behaved
   * connections.
   */
  const unowed = new Set<Connection>()
  let stopping = false
  let running = 0
  let rested: () => void = () => undefined

  const done = () => {
    if (--running === 0) rested()
  }

  const rest = (socket: Connection) => {
    socket[SINCE] = performance.now()
    unowed.add(socket)
  }
  const forget = (socket: Connection) => {
    open.delete(socket)
    unowed.delete(socket)
  }
  const cut = (socket: Connection) => {
    forget(socket)
    socket.destroy()
  }

  server.on('connection', (socket: Connection) => {
    if (open.size >= most) {
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
      const before = performance.now() - idleMs
      for (const socket of unowed) {
        if ((socket[SINCE] as number) > before) return
        cut(socket)
      }
    },
    Math.min(CHECK_MS, idleMs),
  ).unref()

  /** Returns whether no response is pending and no part of another request has arrived. */
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

    run(work) {
      running++
      void work.then(done, done)
    },

    isStopping: () => stopping,

    async stop(graceMs) {
      stopping = true
      // Node's own method would also cut responses that are complete and not sent yet.
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
      // Only the timer of the server is left to close.
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

/** The most bytes that may wait on all connections of a listener. */
const MOST_UNREAD = 64 * 1024 * 1024

/**
 * Bounds the response bytes that clients have not read yet. Bytes that the system does not accept
 * stay in memory until the client reads, so the sum over all connections is bounded. Beyond it,
 * the connection that has not read for longest is closed.
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
