/**
 * Writes responses: one `writeHead` with an array and one `end` with a string, the fastest way in
 * node:http. Bytes that are not a request, and CONNECT, get a response without a response object;
 * such a connection cannot be trusted further and is closed.
 *
 * Readers of event streams that have left are detected by a write. A client that half-closes its
 * connection may have left, or may wait for the response, as `nc -N` does. Only a write shows
 * which, and the stream may have nothing to write for a long time.
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isEventStream } from '../api/event-stream.ts'
import type { Content } from '../api/route.ts'
import { AppError, statusOf } from '../errors.ts'

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

const CSP = "default-src 'none'; frame-ancestors 'none'"

/**
 * Codes of stream errors after the client has disconnected, before or during the response. They
 * are ignored: no client is left, and nothing is wrong here.
 */
const LEFT = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE'])

/** No further header fields. */
export const NONE: Readonly<Record<string, string>> = {}

/**
 * Returns a new id for a request (a UUID, RFC 9562). It is unique in all logs and reveals nothing
 * about this process.
 */
export const newRequestId = (): string => randomUUID()

/** Returns the header fields of every response in Node's format: names and values in turn. */
const commonHeaders = (
  requestId: string,
  csp: string = CSP,
  cache: string = 'no-store',
): string[] => [
  'X-Request-Id',
  requestId,
  'X-Content-Type-Options',
  'nosniff',
  'Cache-Control',
  cache,
  'Content-Security-Policy',
  csp,
]

/**
 * From this length on, in bytes, a text that is sent repeatedly is kept as a buffer that all its
 * readers share.
 */
const SHARED_BYTES = 16 * 1024

interface Json {
  readonly text: string | Buffer
  /** In bytes, as text for the header. */
  readonly length: string
}

const frozenTexts = new WeakMap<object, Json>()

/** Returns the JSON text of a value. A frozen value never changes, so its text is cached. */
function jsonOf(value: unknown): Json {
  const isFrozen = typeof value === 'object' && value !== null && Object.isFrozen(value)
  const known = isFrozen ? frozenTexts.get(value) : undefined
  if (known !== undefined) return known
  const text = JSON.stringify(value)
  const bytes = Buffer.byteLength(text)
  const isShared = isFrozen && bytes >= SHARED_BYTES
  const json = { text: isShared ? Buffer.from(text) : text, length: String(bytes) }
  if (isFrozen) frozenTexts.set(value, json)
  return json
}

/**
 * Sends JSON, or no content if the value is undefined.
 * @param extra further header fields
 */
export function sendJson(
  res: ServerResponse,
  requestId: string,
  status: number,
  value: unknown,
  extra: Readonly<Record<string, string>> = NONE,
): void {
  const headers = commonHeaders(requestId)
  if (extra !== NONE)
    for (const name of Object.keys(extra)) headers.push(name, extra[name] as string)
  if (value === undefined) {
    // RFC 9110 section 8.6: a 204 has no Content-Length.
    if (status !== 204) headers.push('Content-Length', '0')
    res.writeHead(status, headers).end()
    return
  }
  const { text, length } = jsonOf(value)
  headers.push('Content-Type', 'application/json', 'Content-Length', length)
  res.writeHead(status, headers).end(text)
}

/** Sends the content of a `media` row; its own CSP and headers take precedence. */
export async function sendContent(
  res: ServerResponse,
  requestId: string,
  usual: number,
  { status = usual, type, body, headers: own = {} }: Content,
): Promise<void> {
  const {
    'Content-Security-Policy': csp = CSP,
    'Referrer-Policy': referrer = 'no-referrer',
    'Cache-Control': cache,
    ...rest
  } = own
  const headers = commonHeaders(requestId, csp, cache)
  headers.push('Content-Type', type, 'Referrer-Policy', referrer)
  for (const name of Object.keys(rest)) headers.push(name, rest[name] as string)
  if (typeof body === 'string' || body instanceof Uint8Array) {
    headers.push('Content-Length', String(Buffer.byteLength(body)))
    res.writeHead(status, headers)
    res.end(body)
    return
  }
  res.writeHead(status, headers)
  const source = Readable.from(body)
  try {
    if (isEventStream(type)) await pipeline(source, eventReader(res), res)
    else await pipeline(source, res)
  } catch (error) {
    if (!LEFT.has((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    // If the client was already gone, the pipeline never started and the source would wait for a
    // reader.
    source.destroy()
  }
}

/** The maximum size of the headers of a request, in bytes. */
export const HEADERS_BYTES = 16 * 1024

/**
 * Rejects bytes that Node's parser rejected.
 * @param last the response to the last request of the connection, if there was one
 */
export function refuseRaw(
  error: NodeJS.ErrnoException,
  socket: Socket,
  last?: ServerResponse,
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  // One response per request: these bytes belong to one that already has its response …
  if (last?.headersSent && !last.req.complete) {
    socket.destroySoon()
    return
  }
  // … or come after one that is still being answered. Its response is then the last.
  if (last?.req.complete && !last.writableFinished) {
    if (last.headersSent) socket.destroySoon()
    else last.setHeader('Connection', 'close')
    return
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new AppError('headers_too_large', `The headers are larger than ${HEADERS_BYTES} bytes.`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new AppError('request_timeout', 'The request did not arrive in time. Send it again.')
        : new AppError('bad_request', 'The request is not well-formed HTTP/1.1.')
  endRaw(socket, refusal)
}

/** Sends an error and closes the connection. */
export function endRaw(socket: Socket, error: AppError): void {
  // Node has released the socket of a CONNECT: without a listener, a reset by the client would
  // end the process.
  socket.on('error', () => socket.destroy())
  const body = JSON.stringify(error)
  const head = [...commonHeaders(newRequestId()), 'Content-Type', 'application/json']
  for (const [name, value] of Object.entries(error.headers)) head.push(name, value)
  const lines = head.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${head[i + 1]}`] : []))
  socket.end(
    `HTTP/1.1 ${statusOf(error.code)} ${error.code}\r\n${lines.join('\r\n')}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
  // Nothing else would cut a client that never closes its end.
  socket.destroySoon()
}
