/**
 * The connections of a listener, and how many answers each is owed. An end in good order gives those, and no more: it cuts no
 * answer that is still on its way, and waits for nobody who is owed none.
 */
import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

/** Answers that a connection is owed. */
const OWED = Symbol('answers owed')
/** Bytes that had come when the last of its answers had left. */
const READ = Symbol('bytes read')
type Connection = Socket & { [OWED]?: number; [READ]?: number }

/** What was cut learns so, and ends; what does not is not waited for any longer. */
const LAST_WORDS_MS = 1_000

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

/** Keep the connections of a server that does not listen yet. */
export function newConnections(server: Server): Connections {
  const open = new Set<Connection>()
  let stopping = false
  let running = 0
  let rested: () => void = () => undefined

  const done = () => {
    if (--running === 0) rested()
  }

  server.on('connection', (socket: Connection) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })

  /** Whether it is owed nothing, and no part of another request has come. */
  const isIdle = (socket: Connection) =>
    (socket[OWED] ?? 0) === 0 &&
    socket.bytesRead === (socket[READ] ?? 0) &&
    socket.readableLength === 0

  return {
    owe(socket, res, left) {
      const connection: Connection = socket
      connection[OWED] = (connection[OWED] ?? 0) + 1
      res.once('close', () => {
        left(socket, res)
        connection[OWED] = (connection[OWED] as number) - 1
        if (connection[OWED] > 0) return
        connection[READ] = connection.bytesRead
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
      const cut = setTimeout(() => {
        for (const socket of open) socket.destroy()
      }, graceMs)
      await ended
      clearTimeout(cut)
      // Nothing is left to close but its timer.
      server.close()
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, LAST_WORDS_MS)
        rested = () => {
          clearTimeout(late)
          resolve()
        }
        if (running === 0) rested()
      })
    },
  }
}
