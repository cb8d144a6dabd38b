/**
 * The log: JSON lines on standard error. One redactor stands before every line, so that no caller of it can leak a secret:
 * whatever looks like one is cut out.
 */
import { redact } from './crypto/encoding/redact.ts'
import { AppError } from './errors.ts'

export { redact } from './crypto/encoding/redact.ts'

export type Level = 'error' | 'warn' | 'info' | 'debug'
type Fields = Readonly<Record<string, unknown>>
/** Fields given as a function are made only for a line that is written. */
export type Log = (level: Level, event: string, fields?: Fields | (() => Fields)) => void

const RANK = { error: 0, warn: 1, info: 2, debug: 3 } as const

/** What may happen on any day says in its message what it was; a stack is for what should not. */
const plain = (value: unknown): unknown => {
  if (value instanceof AppError) return `${value.code}: ${value.message}`
  return value instanceof Error ? `${value.name}: ${value.message}\n${value.stack ?? ''}` : value
}

/** Fields that hold nothing else. */
const CREDENTIALS = /^(?:proxy-)?authorization$|^(?:set-)?cookie$/i

/** What a line tells of a value: names and texts without secrets. Before it is JSON, whose escapes would look like a part of them. */
function cut(name: string, value: unknown): unknown {
  if (typeof value === 'string') return CREDENTIALS.test(name) ? '[redacted]' : redact(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), inner]))
}

/** A log that keeps lines up to `level` and hands each, with its line feed, to `write`. */
export function newLog(level: Level, write: (line: string) => void): Log {
  return (at, event, fields = {}) => {
    if (RANK[at] > RANK[level]) return
    const given = typeof fields === 'function' ? fields() : fields
    const told = Object.fromEntries(Object.entries(given).map(([k, value]) => [k, plain(value)]))
    const line = { time: new Date().toISOString(), level: at, event, ...told }
    write(`${JSON.stringify(line, cut)}\n`)
  }
}
