/**
 * The connections of a listener, and how many answers each is owed. Their number is bounded: at the
 * limit, a new connection takes the place of the one that has been owed no answer for longest. An
 * orderly stop sends the answers that are owed and closes the other connections at once.
 */
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

/** Answers that a connection is owed. */
const OWED = Symbol('answers owed')
/** Bytes that had come when the last of its answers had left. */
const READ = Symbol('bytes read')
/** Since when it is owed no answer, by `performance.now()`. */
const SINCE = Symbol('owed nothing since')
type Connection = Socket & { [OWED]?: number; [READ]?: number; [SINCE]?: number }

/** What was cut learns so, and ends; what does not is not waited for any longer. */
const LAST_WORDS_MS = 1_000
/** How often connections that are owed nothing are checked for their age, in milliseconds. */
const CHECK_MS = 1_000

export interface ConnectionLimits {
  /** The most connections that are open at once. */
  readonly most: number
  /** How long a connection may be owed no answer, in milliseconds, whatever it sends meanwhile. */
  readonly idleMs: number
}

export interface Connections {
  /**
   * An answer is owed on this connection, until it has left or the connection has ended.
   * @param left called then
   */
  owe(
    socket: Socket,
    res: ServerResponse,
    left: (socket: Socket, res: ServerResponse) => void,
  ): void
  /** Work on a request, which an end waits for also where its connection was cut. */
  run(work: Promise<void>): void
  /** Whether nothing new is taken. */
  isStopping(): boolean
  /** Take no connection any more, wait for the answers that are owed at most `graceMs`, then cut. */
  stop(graceMs: number): Promise<void>
}

/**
 * Track the connections of a server that does not listen yet.
 *
 * Node's own limit (`maxConnections`) would refuse the newest connection, so that silent ones keep
 * everybody else out. Its idle timeout starts again with each byte, also with the blank lines that
 * RFC 9112 section 2.2 lets a client send before a request.
 */
export function newConnections(server: Server, { most, idleMs }: ConnectionLimits): Connections {
  const open = new Set<Connection>()
  /**
   * Those that are owed no answer, the longest first. One that has sent a part of a request has its
   * place among them by the same rule, or partial requests would push out connections in order.
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

  /** Whether it is owed nothing, and no part of another request has come. */
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
      // Node's own would also cut answers that were made and have not left yet.
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
      // Nothing is left to close but its timer.
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
