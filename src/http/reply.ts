/**
 * Writes responses.
 *
 * A response is one `writeHead` with an array and one `end` with a string, because this is the
 * fastest way in node:http. CONNECT, and bytes that are not a request, are answered without a
 * response object, and then the connection is closed.
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isEventStream } from '../api/event-stream.ts'
import type { Content } from '../api/route.ts'
import { AppError, type ErrorCode, statusOf } from '../errors.ts'
import { writeEvents } from './event-writer.ts'

const CSP = "default-src 'none'; frame-ancestors 'none'"

/**
 * Codes of stream errors that occur if the client disconnects before or during the response.
 *
 * They are ignored, because nobody waits for the response and nothing is wrong in this program.
 */
const LEFT = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE'])

/** No additional header fields. */
export const NONE: Readonly<Record<string, string>> = {}

/**
 * Returns a new request id: a UUID (RFC 9562).
 *
 * It is unique in all logs and reveals nothing about this process.
 */
export const newRequestId = (): string => randomUUID()

/**
 * Returns a new id for a request of a monitor, which no log records.
 *
 * It needs no node:crypto, whose load would delay the first answer.
 */
export const newProbeId = (): string => `probe-${Math.random().toString(36).slice(2)}`

/** Returns the header fields of every response as Node expects them: names and values alternate. */
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

/** A repeated text of at least this size, in bytes, is cached as one buffer for all clients. */
const SHARED_BYTES = 16 * 1024

interface Json {
  readonly text: string | Buffer
  /** The number of bytes, as text for the header field. */
  readonly length: string
}

const frozenTexts = new WeakMap<object, Json>()

/** Returns the JSON text of a value. The text of a frozen value is cached, as it never changes. */
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
 * Sends a value as JSON, or a response without content if the value is undefined.
 * @param extra additional header fields
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
    // RFC 9110 section 8.6: a 204 must not have a Content-Length.
    if (status !== 204) headers.push('Content-Length', '0')
    res.writeHead(status, headers).end()
    return
  }
  const { text, length } = jsonOf(value)
  headers.push('Content-Type', 'application/json', 'Content-Length', length)
  res.writeHead(status, headers).end(text)
}

/** Sends the content of a row with `media`. Its own CSP and header fields take precedence. */
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
  if (res.req.method === 'HEAD') {
    // RFC 9110 section 9.3.2: no content. A stream could last for hours.
    res.end()
    await body[Symbol.asyncIterator]().return?.()
    return
  }
  if (isEventStream(type)) return writeEvents(res, body)
  const source = Readable.from(body)
  try {
    await pipeline(source, res)
  } catch (error) {
    if (!LEFT.has((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    // If the client had already disconnected, the pipeline did not start, so the source must be
    // closed here.
    source.destroy()
  }
}

/** The maximum size of the headers of a request, in bytes. */
export const HEADERS_BYTES = 16 * 1024

/**
 * Responds to bytes that Node's parser rejected, and closes the connection.
 * @param last the response to the connection's last request, if there was one
 * @returns the code of the error that was sent; null if none was sent
 */
export function refuseRaw(
  error: NodeJS.ErrnoException,
  socket: Socket,
  last?: ServerResponse,
): ErrorCode | null {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return null
  }
  // Each request gets only one response. These bytes belong to a request that already has its
  // response …
  if (last?.headersSent && !last.req.complete) {
    socket.destroySoon()
    return null
  }
  // … or they follow a request that is still being answered. That response is then the last one.
  if (last?.req.complete && !last.writableFinished) {
    if (last.headersSent) socket.destroySoon()
    else last.setHeader('Connection', 'close')
    return null
  }
  const refusal =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? new AppError('headers_too_large', `The headers are larger than ${HEADERS_BYTES} bytes.`)
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? new AppError('request_timeout', 'The request did not arrive in time. Send it again.')
        : new AppError('bad_request', 'The request is not well-formed HTTP/1.1.')
  endRaw(socket, refusal)
  return refusal.code
}

/** Sends an error response and closes the connection. */
export function endRaw(socket: Socket, error: AppError): void {
  // Node has detached the socket of a CONNECT request. Without this listener, a reset by the client
  // would end the process.
  socket.on('error', () => socket.destroy())
  const body = JSON.stringify(error)
  const head = [...commonHeaders(newRequestId()), 'Content-Type', 'application/json']
  for (const [name, value] of Object.entries(error.headers)) head.push(name, value)
  const lines = head.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${head[i + 1]}`] : []))
  socket.end(
    `HTTP/1.1 ${statusOf(error.code)} ${error.code}\r\n${lines.join('\r\n')}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
  // Otherwise, a client that never closes its end would keep the connection open.
  socket.destroySoon()
}
