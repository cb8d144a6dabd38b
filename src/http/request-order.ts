/**
 * Orders the requests of each connection.
 *
 * HTTP/1.1 lets a client send many requests without waiting for a response (RFC 9112 section
 * 9.3.2). Node parses all requests in one read: about 1,200 in 64 KiB. This module passes one
 * header section at a time to the parser. It passes none while enough requests wait, or while the
 * client does not read the previous response. The remaining bytes stay in the socket, so that TCP
 * flow control slows the client down.
 */
import type { Server, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { elapsedMs } from '../elapsed.ts'

/**
 * Spreads work over several turns of the event loop, so that new connections are served in between.
 */
interface Backlog<Item> {
  /** Handles an item in a later turn. Items are handled in order. */
  readonly push: (item: Item) => void
  /** Handles an item now, if this turn has handled fewer than `most` items and no item waits. */
  readonly offer: (item: Item) => void
}

/**
 * Creates a queue.
 * @param most the maximum number of items handled in one turn
 */
export function newBacklog<Item>(most: number, handle: (item: Item) => void): Backlog<Item> {
  /** A `Set`, because it removes its first item in constant time. */
  const items = new Set<Item>()
  let left = most
  let isScheduled = false

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(run)
  }
  function run(): void {
    isScheduled = false
    left = most
    for (const item of items) {
      if (left === 0) break
      left--
      items.delete(item)
      handle(item)
    }
    if (left < most) schedule()
  }
  return {
    push(item) {
      items.add(item)
      schedule()
    },
    offer(item) {
      schedule()
      if (left === 0 || items.size > 0) {
        items.add(item)
        return
      }
      left--
      handle(item)
    },
  }
}

/** The maximum number of requests that wait behind the current one. */
const MOST_WAITING = 8
/** The size of libuv's reads in bytes. A shorter read has emptied the operating system's buffer. */
const FULL_READ = 64 * 1024
/**
 * The maximum number of bytes passed to the parser at once.
 *
 * If they arrive in chunks of one byte, parsing them takes about a millisecond.
 */
const PIECE_BYTES = 4 * 1024
/** How long one connection may use the parser in one turn of the event loop, in milliseconds. */
const MOST_PARSING_MS = 1
/**
 * How long requests that have to wait may be parsed in one turn, in milliseconds.
 *
 * This limit applies to all connections together.
 */
const MOST_AHEAD_MS = 1
/** How many held-back connections continue in one turn of the event loop. */
const MOST_RESUMED = 8
/** How many requests that do not wait behind another one begin in one turn. */
const MOST_FIRST = 32
/** How many requests that waited behind others of their connection begin in one turn. */
const MOST_BEHIND = 8
/** How long a client may continue to send after its connection's last response, in milliseconds. */
const LINGER_MS = 1_000
const BLANK_LINE = Buffer.from('\r\n\r\n')
/**
 * The length of `GET / HTTP/1.1` and a blank line.
 *
 * No request is shorter, so a piece never contains the beginning of two requests.
 */
const SHORTEST = 18

interface Waiting {
  readonly socket: Socket
  readonly res: ServerResponse
  readonly start: () => void
}

/** The state of a connection. */
interface Line {
  /** The response that is being created or sent. */
  current: ServerResponse | null
  readonly waiting: Waiting[]
  /** Whether more requests from this connection are accepted. */
  isOpen: boolean
  /** Whether the bytes of this connection are not HTTP. */
  isBroken: boolean
  /** Whether the rest of the connection's last request is discarded. */
  isDropped: boolean
  /** Whether the remaining bytes of this connection are held back until a later turn. */
  isHeld: boolean
}

const LINE = Symbol('line')
type Connection = Socket & { [LINE]?: Line }

const lineOf = (socket: Connection): Line =>
  (socket[LINE] ??= {
    current: null,
    waiting: [],
    isOpen: true,
    isBroken: false,
    isDropped: false,
    isHeld: false,
  })

/**
 * Whether a connection's parser needs more bytes.
 *
 * They are needed for another request, or for the rest of the last one.
 */
const isRead = (socket: Socket, { current, isOpen, isBroken, isDropped }: Line): boolean =>
  // The parser of a closed connection may already be serving another connection.
  !socket.destroyed && !isBroken && !isDropped && (isOpen || current?.req.complete === false)

/**
 * Returns the end of the piece that begins at `at`.
 *
 * A piece ends after a blank line, but has at most PIECE_BYTES.
 */
function endOfPiece(bytes: Buffer, at: number): number {
  const most = Math.min(at + PIECE_BYTES, bytes.length)
  const blank = bytes.subarray(at, most).indexOf(BLANK_LINE, SHORTEST - BLANK_LINE.length)
  return blank === -1 ? most : at + blank + BLANK_LINE.length
}

/**
 * Returns a function that makes a connection pass its bytes to its parser piece by piece.
 * @param holding the connections that continue in a later turn of the event loop
 */
function newPace(holding: Backlog<Connection>): (socket: Connection) => void {
  let aheadUntil: number | null = null
  const isAhead = () => {
    if (aheadUntil === null) {
      aheadUntil = elapsedMs() + MOST_AHEAD_MS
      setImmediate(() => (aheadUntil = null))
    }
    return elapsedMs() < aheadUntil
  }
  /** Whether a connection has as many waiting requests as it may have at the moment. */
  const isFull = ({ waiting }: Line) =>
    waiting.length >= MOST_WAITING || (waiting.length > 0 && !isAhead())

  return (socket) => {
    const line = lineOf(socket)
    // Node's own listener, which passes the bytes to its parser. If a socket has another listener,
    // Node leaves the reading to that listener.
    const [parse] = socket.listeners('data') as [(bytes: Buffer) => void]
    const later = (rest: Buffer) => {
      socket.pause()
      if (rest.length > 0) socket.unshift(rest)
    }
    const hold = (rest: Buffer) => {
      later(rest)
      line.isHeld = true
      holding.push(socket)
    }
    socket.on('data', (bytes: Buffer) => {
      if (line.isHeld) {
        // Node has resumed the socket to read a request body, but the bytes of this connection are
        // still held back.
        later(bytes)
        return
      }
      const until = elapsedMs() + MOST_PARSING_MS
      for (let at = 0; at < bytes.length;) {
        if (!isRead(socket, line)) break
        if (isFull(line) || socket.writableNeedDrain) {
          later(bytes.subarray(at))
          return
        }
        if (at >= PIECE_BYTES && elapsedMs() >= until) {
          hold(bytes.subarray(at))
          return
        }
        const end = endOfPiece(bytes, at)
        parse(end - at === bytes.length ? bytes : bytes.subarray(at, end))
        at = end
        // This request body is read more slowly than it is sent. Node resumes the socket when the
        // body is read.
        if (socket.isPaused()) {
          later(bytes.subarray(at))
          return
        }
      }
      // The operating system may have more bytes, and libuv would read up to 32 times before it
      // serves other connections.
      if (bytes.length >= FULL_READ) hold(bytes.subarray(bytes.length))
    })
    socket.off('data', parse)
  }
}

/**
 * Closes a connection after its response without a TCP reset.
 *
 * A reset could make the client lose the response (RFC 9112 section 9.6). Closes the writing end,
 * and discards what the client still sends.
 */
function linger(socket: Socket): void {
  const destroySoon = () => Socket.prototype.destroySoon.call(socket)
  if (socket.destroyed || socket.readableEnded) {
    destroySoon()
    return
  }
  const late = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(late)).once('end', destroySoon)
  socket.end()
  socket.resume()
}

interface Turns {
  /**
   * Starts to answer a request: now, or when the previous responses of the connection were sent.
   */
  take(socket: Socket, res: ServerResponse, start: () => void): void
  /** Starts the next request after a response was sent or its connection was closed. */
  readonly leave: (socket: Socket, res: ServerResponse) => void
  /** Stops reading from a connection. Requests that were already parsed are still answered. */
  stopReading(socket: Socket): void
  /**
   * Discards the rest of a connection's last request.
   *
   * The response must have `Connection: close`. Afterwards the connection is read until the client
   * closes it, for at most LINGER_MS.
   */
  drop(socket: Socket): void
  /**
   * Accepts no more requests from a connection and discards the waiting ones.
   *
   * The current request is still answered.
   */
  end(socket: Socket): void
  /** Whether requests from a connection are still accepted. */
  isOpen(socket: Socket): boolean
}

/** Orders the requests on each connection of a server. Call this before the server listens. */
export function newRequestOrder(server: Server): Turns {
  const holding = newBacklog<Connection>(MOST_RESUMED, (socket) => {
    lineOf(socket).isHeld = false
    socket.resume()
  })
  const begin = ({ socket, start }: Waiting) => {
    if (!socket.destroyed) start()
  }
  // There are two queues, so that many requests on one connection do not delay the first request on
  // another.
  const first = newBacklog(MOST_FIRST, begin)
  const behind = newBacklog(MOST_BEHIND, begin)

  server.on('connection', newPace(holding))
  return {
    take(socket, res, start) {
      const line = lineOf(socket)
      const request = { socket, res, start }
      if (line.current !== null) {
        line.waiting.push(request)
        return
      }
      line.current = res
      first.offer(request)
    },
    leave(socket, res) {
      const line = lineOf(socket)
      if (line.current !== res) return
      const next = line.waiting.shift()
      line.current = next?.res ?? null
      if (next !== undefined) behind.push(next)
      else if (socket.isPaused()) {
        line.isHeld = true
        holding.push(socket)
      }
    },
    stopReading(socket) {
      lineOf(socket).isBroken = true
    },
    drop(socket) {
      lineOf(socket).isDropped = true
      socket.destroySoon = () => linger(socket)
    },
    end(socket) {
      const line = lineOf(socket)
      line.isOpen = false
      line.waiting.length = 0
    },
    isOpen: (socket) => lineOf(socket).isOpen,
  }
}
