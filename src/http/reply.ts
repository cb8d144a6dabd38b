/** Answers as bytes: one `writeHead` with an array, one `end` with a string, which is what node:http is fastest at. */
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { isEventStream } from '../api/event-stream.ts'
import type { Content } from '../api/route.ts'
import { eventReader } from './event-reader.ts'

const CSP = "default-src 'none'; frame-ancestors 'none'"

/** What a stream says when whoever asked has left, in the middle or before: nobody is there to be told, and nothing is wrong here. */
const LEFT = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE'])

/** No further header fields. */
export const NONE: Readonly<Record<string, string>> = {}

/**
 * A new id for a request (a UUID, RFC 9562): unique in all logs, and nothing about this process can
 * be read from it.
 */
export const newRequestId = (): string => randomUUID()

/** What every answer carries, as Node takes it: names and values in turn. */
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
 * From this length on, in bytes, a text that is sent again and again is kept as the bytes that all
 * its readers share.
 */
const SHARED_BYTES = 16 * 1024

interface Json {
  readonly text: string | Buffer
  /** In bytes, as the header says it. */
  readonly length: string
}

const frozenTexts = new WeakMap<object, Json>()

/** The text of a value. What is frozen says the same each time, so its text is made once. */
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

/** Answer with JSON, or without content where the value is undefined. `extra` are further header fields. */
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
    // RFC 9110 section 8.6: a 204 has no length.
    if (status !== 204) headers.push('Content-Length', '0')
    res.writeHead(status, headers).end()
    return
  }
  const { text, length } = jsonOf(value)
  headers.push('Content-Type', 'application/json', 'Content-Length', length)
  res.writeHead(status, headers).end(text)
}

/** Answer with what a `media` row gives; its own CSP and headers win. */
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
    // Where nobody was there any more, it was not even begun, and would wait for its reader.
    source.destroy()
  }
}
