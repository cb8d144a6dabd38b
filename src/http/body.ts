/**
 * Reads and parses request bodies: JSON in UTF-8 or, if the row declares it, a form or text.
 *
 * The size (in bytes) and the nesting depth are limited. The dispatcher reads a body only after all
 * other checks of the request have passed.
 */
import type { IncomingMessage } from 'node:http'
import { DEEPEST_TEXT, newShapeCheck } from '../api/json-shape.ts'
import { AppError } from '../errors.ts'
import { type BodyMemory, LARGE_BYTES } from './body-memory.ts'

const tooLarge = (limit: number) =>
  new AppError('payload_too_large', `The body is larger than the limit of ${limit} bytes.`)

/** Whether a request announces a body (RFC 9112 section 6). */
export const hasBody = (req: IncomingMessage) =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const CHARSET = /^ *(?:; *charset="?utf-8"? *)?$/i

function checkType(req: IncomingMessage, wanted: string): void {
  const type = req.headers['content-type'] ?? ''
  if (
    type.slice(0, wanted.length).toLowerCase() !== wanted ||
    !CHARSET.test(type.slice(wanted.length))
  )
    throw new AppError('unsupported_media_type', `Send the body as Content-Type: ${wanted}.`)
  if (req.headers['content-encoding'] !== undefined)
    throw new AppError('unsupported_media_type', 'Send the body without a Content-Encoding.')
}

/**
 * Reads a body into `memory`, which the caller must release.
 * @param check called with each chunk as it arrives; if it throws, the reading ends with that error
 */
function read(
  req: IncomingMessage,
  { limit, owner }: { readonly limit: number; readonly owner: string },
  check: (bytes: Uint8Array) => void,
  memory: BodyMemory,
): Promise<{ bytes: Buffer; release: () => void }> {
  return new Promise((resolve, reject) => {
    let size = 0
    const refuse = (error: AppError) => {
      req.removeAllListeners('data')
      req.pause()
      body.release()
      reject(error)
    }
    const body = memory({ owner, limit }, refuse)
    req.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > limit) {
        refuse(tooLarge(limit))
        return
      }
      try {
        check(chunk)
        body.append(chunk)
      } catch (error) {
        refuse(error as AppError)
      }
    })
    req.once('end', () => resolve({ bytes: body.finish(), release: body.release }))
    req.once('error', () =>
      refuse(new AppError('bad_request', 'The body ended before it was complete.')),
    )
  })
}

/** Whether the quote at `at` is escaped: an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text[before - 1] === '\\') before--
  return (at - before) % 2 === 1
}

/**
 * Rejects two things that JSON permits but that can be misread.
 *
 * A member `__proto__` would reach an object's prototype. A duplicate name is resolved differently
 * by different parsers (RFC 8259 section 4).
 * @param text valid JSON, with a depth that was checked while the text arrived
 * @throws AppError `invalid_json`
 */
function checkNames(text: string): void {
  const open: (Set<unknown> | null)[] = []
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === '{' || character === '[') open.push(character === '{' ? new Set() : null)
    else if (character === '}' || character === ']') open.pop()
    else if (character === '"') {
      const start = i
      do i = text.indexOf('"', i + 1)
      while (isEscaped(text, i))
      let next = i + 1
      while (' \t\n\r'.includes(text[next] ?? '.')) next++
      if (text[next] !== ':') continue
      const name: unknown = JSON.parse(text.slice(start, i + 1))
      if (name === '__proto__')
        throw new AppError('invalid_json', 'The body has a member named __proto__.')
      const names = open.at(-1)
      if (names?.has(name))
        throw new AppError('invalid_json', 'The body has two members of the same name.')
      names?.add(name)
    }
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes a text that another component parses as JSON.
 * @throws AppError `invalid_json` if it is not UTF-8
 */
function parseText(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new AppError('invalid_json', 'The body is not UTF-8. Check its encoding.')
  }
}

/**
 * Parses the bytes of a JSON body.
 * @throws AppError `invalid_json`; the message gives the position, never the content
 */
function parseJson(bytes: Uint8Array): unknown {
  let text: string
  let value: unknown
  try {
    text = UTF8.decode(bytes)
    value = JSON.parse(text)
  } catch (cause) {
    const at = /position \d+/.exec(cause instanceof Error ? cause.message : '')?.[0]
    throw new AppError(
      'invalid_json',
      `The body is not JSON in UTF-8${at ? ` (at ${at})` : ''}. Check quotes, commas and encoding.`,
    )
  }
  checkNames(text)
  return value
}

/** Returns the error for a malformed form, in the format of OAuth (RFC 6749 section 5.2). */
const badForm = (message: string) =>
  new AppError('invalid_request', message, { details: { error_description: message } })

function decodeFormText(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw badForm('The form has a %-escape that is not UTF-8.')
  }
}

/**
 * Parses the bytes of a form (RFC 6749 appendix B).
 *
 * As section 3.2 requires, a parameter without a value is omitted, and a duplicate parameter is
 * rejected.
 * @throws AppError `invalid_request`; the message does not quote the form
 */
export function parseForm(bytes: Uint8Array): Record<string, string> {
  const values = new Map<string, string>()
  const seen = new Set<string>()
  const text = new TextDecoder('latin1').decode(bytes)
  if (/[^\x20-\x7e]/.test(text)) throw badForm('The form is not application/x-www-form-urlencoded.')
  for (const pair of text.split('&')) {
    const [name = '', ...rest] = pair.split('=')
    if (pair === '') continue
    const key = decodeFormText(name)
    if (seen.has(key)) throw badForm('The form has two parameters of the same name.')
    seen.add(key)
    const value = decodeFormText(rest.join('='))
    if (value !== '') values.set(key, value)
  }
  return Object.fromEntries(values)
}

const uncounted = () => () => undefined

const KINDS = {
  json: { type: JSON_TYPE, check: () => newShapeCheck(), parse: parseJson, none: () => undefined },
  form: { type: FORM_TYPE, check: uncounted, parse: parseForm, none: () => ({}) },
  text: {
    type: JSON_TYPE,
    check: () => newShapeCheck(DEEPEST_TEXT),
    parse: parseText,
    none: () => '',
  },
} as const

/**
 * Reads and parses the body of a request.
 *
 * Without a body, the result is undefined for JSON, an object without members for a form, and an
 * empty string for text.
 * @param of `limit`: the maximum size in bytes; `owner`: whose share of the memory is used (see
 * `BodyMemory`); `as`: how the body is parsed; `proceed`: called before reading, so that `100
 * Continue` is sent only for a body that will be read; `whenLarge`: awaited before a large body is
 * parsed; `memory`: stores the bytes until they are parsed
 * @throws AppError 400, 408, 413 or 415
 */
export async function readBody(
  req: IncomingMessage,
  of: {
    limit: number
    owner: string
    as?: keyof typeof KINDS | undefined
    proceed: () => void
    whenLarge: () => Promise<void>
    memory: BodyMemory
  },
): Promise<unknown> {
  const { limit, owner, as = 'json', proceed, whenLarge, memory } = of
  const { type, check, parse, none } = KINDS[as]
  if (!hasBody(req)) return none()
  checkType(req, type)
  if (Number(req.headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
  proceed()
  const { bytes, release } = await read(req, { limit, owner }, check(), memory)
  try {
    if (bytes.length >= LARGE_BYTES) await whenLarge()
    return parse(bytes)
  } finally {
    release()
  }
}
