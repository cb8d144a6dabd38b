/**
 * The log: JSON lines on standard error. One redactor removes text that looks like a secret from
 * every line, so code that logs cannot leak a secret.
 */
import { redact } from './crypto/encoding/redact.ts'
import { AppError } from './errors.ts'

export type Level = 'error' | 'warn' | 'info' | 'debug'
/** The fields of a line besides its own three. */
type Fields = Readonly<Record<string, unknown>> &
  Readonly<Partial<Record<'time' | 'level' | 'event', never>>>
/** Writes a line. Fields given as a function are computed only if the line is written. */
export type Log = (level: Level, event: string, fields?: Fields | (() => Fields)) => void

const RANK = { error: 0, warn: 1, info: 2, debug: 3 } as const

/**
 * Returns a value in the form in which it is logged. An AppError is expected, so its message is
 * enough. Other errors are logged with their stack at level `debug`.
 */
function plain(value: unknown, level: Level): unknown {
  if (value instanceof AppError) return `${value.code}: ${value.message}`
  if (!(value instanceof Error)) return value
  const stack = level === 'debug' ? `\n${value.stack ?? ''}` : ''
  return `${value.name}: ${value.message}${stack}`
}

/** Names of fields that contain only credentials. */
const CREDENTIALS = /^(?:proxy-)?authorization$|^(?:set-)?cookie$/i

/**
 * Redacts the field names and strings of a value. This happens before JSON encoding, because JSON
 * escapes would look like parts of a secret.
 */
function cut(name: string, value: unknown): unknown {
  if (typeof value === 'string') return CREDENTIALS.test(name) ? '[redacted]' : redact(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), inner]))
}

/**
 * Creates a log that writes the lines of `level` and of all more severe levels.
 * @param write called with each line, including its line feed
 */
export function newLog(level: Level, write: (line: string) => void): Log {
  return (at, event, fields = {}) => {
    if (RANK[at] > RANK[level]) return
    const given = typeof fields === 'function' ? fields() : fields
    const plainFields = Object.fromEntries(
      Object.entries(given).map(([k, value]) => [k, plain(value, level)]),
    )
    const line = { time: new Date().toISOString(), level: at, event, ...plainFields }
    write(`${JSON.stringify(line, cut)}\n`)
  }
}
