/**
 * Orders the requests of one connection. HTTP/1.1 lets a client send many requests without waiting
 * for a response (RFC 9112 section 9.3.2). Node parses all that came in one read: some 1,200 in 64
 * KiB. This module gives the parser one header section at a time, and none while enough requests
 * wait or the client does not read the response before them. The rest stays in the socket, so that
 * TCP flow control slows the client down.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that may wait behind the one that is being answered. */
const MOST_WAITING = 8
const BLANK_LINE = Buffer.from('\r\n\r\n')
/** The length of `GET / HTTP/1.1` and a blank line. No request is shorter: no piece begins two. */
const SHORTEST = 18

interface Waiting {
  readonly res: ServerResponse
  readonly start: () => void
}

/** What is known of a connection. */
interface Line {
  /** The answer that is being made or sent. */
  current: ServerResponse | null
  readonly waiting: Waiting[]
  /** Whether requests are still taken from it. */
  isOpen: boolean
  /** Whether its bytes are no HTTP. */
  isBroken: boolean
}

const LINE = Symbol('line')
type Connection = Socket & { [LINE]?: Line }

const lineOf = (socket: Connection): Line =>
  (socket[LINE] ??= { current: null, waiting: [], isOpen: true, isBroken: false })

/** Whether the parser needs more bytes: for another request, or for the rest of the last one. */
const isRead = (socket: Socket, { current, isOpen, isBroken }: Line): boolean =>
  // A closed connection has lost its parser, which may serve another one.
  !socket.destroyed && !isBroken && (isOpen || current?.req.complete === false)

/** Give the parser of a connection its bytes piece by piece. */
function pace(socket: Connection): void {
  const line = lineOf(socket)
  // Node's own listener, which feeds its parser. With another listener Node leaves reading to it.
  const [parse] = socket.listeners('data') as [(bytes: Buffer) => void]
  socket.on('data', (bytes: Buffer) => {
    for (let at = 0; at < bytes.length;) {
      if (!isRead(socket, line)) return
      if (line.waiting.length >= MOST_WAITING || socket.writableNeedDrain) {
        socket.pause()
        socket.unshift(bytes.subarray(at))
        return
      }
      const blank = bytes.indexOf(BLANK_LINE, at + SHORTEST - BLANK_LINE.length)
      const end = blank === -1 ? bytes.length : blank + BLANK_LINE.length
      parse(end - at === bytes.length ? bytes : bytes.subarray(at, end))
      at = end
    }
  })
  socket.off('data', parse)
}

/**
 * Starts the next waiting request in its own event loop turn, so that other connections proceed.
 */
function goOn(socket: Connection, line: Line): void {
  const next = line.waiting.shift()
  line.current = next?.res ?? null
  if (next !== undefined)
    setImmediate(() => {
      if (!socket.destroyed) next.start()
    })
  else if (socket.isPaused()) setImmediate(() => socket.resume())
}

export interface Turns {
  /** Begin the answer to a request, now or when those before it on its connection have left. */
  take(socket: Socket, res: ServerResponse, start: () => void): void
  /** Go on behind an answer that has left, or whose connection has closed. */
  readonly leave: (socket: Socket, res: ServerResponse) => void
  /** Read no more of a connection. The requests that were taken from it are still answered. */
  stopReading(socket: Socket): void
  /**
   * Take no more requests from a connection, and drop those that wait. The one that is being
   * answered still is.
   */
  end(socket: Socket): void
  /** Whether requests are still taken from a connection. */
  isOpen(socket: Socket): boolean
}

/** Keep the order on each connection of a server that does not listen yet. */
export function newTurns(server: Server): Turns {
  server.on('connection', pace)
  return {
    take(socket, res, start) {
      const line = lineOf(socket)
      if (line.current !== null) {
        line.waiting.push({ res, start })
        return
      }
      line.current = res
      start()
    },
    leave(socket, res) {
      const line = lineOf(socket)
      if (line.current === res) goOn(socket, line)
    },
    stopReading(socket) {
      lineOf(socket).isBroken = true
    },
    end(socket) {
      const line = lineOf(socket)
      line.isOpen = false
      line.waiting.length = 0
    },
    isOpen: (socket) => lineOf(socket).isOpen,
  }
}
