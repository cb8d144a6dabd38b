/**
 * Writes responses: one `writeHead` with an array and one `end` with a string, the fastest way in
 * node:http.
 */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isEventStream } from '../api/event-stream.ts'
import type { Content } from '../api/route.ts'
import { eventReader } from './event-reader.ts'

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
export const commonHeaders = (
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
