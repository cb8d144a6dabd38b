/**
 * The log: JSON lines on standard error. One redactor stands before every line, so that no caller of it can leak a secret:
 * tokens, Authorization fields, signed structures, link fragments and long keys are cut out of whatever is written.
 */
import { AppError } from './errors.ts'

export type Level = 'error' | 'warn' | 'info' | 'debug'
type Fields = Readonly<Record<string, unknown>>
/** Fields given as a function are made only for a line that is written. */
export type Log = (level: Level, event: string, fields?: Fields | (() => Fields)) => void

const RANK = { error: 0, warn: 1, info: 2, debug: 3 } as const

const SECRETS: readonly RegExp[] = [
  /cs[dm]_[0-9A-Za-z]+/g, // API tokens
  /(?<=(?:Bearer|DPoP) +)[^\s"\\]+/gi, // RFC 6750, RFC 9449; up to the quote that ends a text in a line of JSON
  /[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g, // compact JWS
  /\b[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}\b/g, // enrolment codes
  /(?<=#)[\w-]{20,}/g, // link fragments carry keys
  /[\w-]{43,}/g, // 32 bytes and more in base64url or hex
]

/** The text with everything that looks like a secret cut out. */
export const redact = (text: string): string =>
  SECRETS.reduce((rest, secret) => rest.replace(secret, '[redacted]'), text)

/** What may happen on any day says in its message what it was; a stack is for what should not. */
const plain = (value: unknown): unknown => {
  if (value instanceof AppError) return `${value.code}: ${value.message}`
  return value instanceof Error ? `${value.name}: ${value.message}\n${value.stack ?? ''}` : value
}

/** A log that keeps lines up to `level` and hands each, with its line feed, to `write`. */
export function newLog(level: Level, write: (line: string) => void): Log {
  return (at, event, fields = {}) => {
    if (RANK[at] > RANK[level]) return
    const given = typeof fields === 'function' ? fields() : fields
    const told = Object.fromEntries(Object.entries(given).map(([k, value]) => [k, plain(value)]))
    write(
      redact(JSON.stringify({ time: new Date().toISOString(), level: at, event, ...told })) + '\n',
    )
  }
}
