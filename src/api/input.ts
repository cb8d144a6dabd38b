/** Input judged by the schema of its row, and how its faults are told: alike wherever a request comes in. */
import { type BaseIssue, getDotPath, safeParse } from 'valibot'
import { redact } from '../crypto/encoding/redact.ts'
import { AppError, type Issue } from '../errors.ts'
import type { Schema } from './route.ts'

/** Issues quote the request: an answer must not grow with it. */
const MOST_ISSUES = 20
const LONGEST_TEXT = 200

type Where = 'query' | 'body'

/** What is wrong with the query or the body, in the words of the row's schema or of a rule behind it. */
export function invalid(where: Where, issues: readonly Issue[], cause?: unknown): AppError {
  const [first] = issues
  const at = first?.path ? `${where}, ${first.path}` : where
  return new AppError('validation_failed', `The request is not valid (${at}): ${first?.message}`, {
    details: { issues },
    cause,
  })
}

/** No more is looked at: something may be cut out of it before it is cut off. */
const told = (text: string): string => redact(text.slice(0, 4 * LONGEST_TEXT))

/**
 * As much of what a request says as is quoted, without what looks like a secret: to the end of a word, where it has words. What a
 * schema wants is told whole.
 */
const brief = (text: string): string =>
  text.length <= LONGEST_TEXT
    ? redact(text)
    : `${told(text)
        .slice(0, LONGEST_TEXT)
        .toWellFormed()
        .replace(/\s+\S{0,40}$/, '')}…`

/** An issue in words that say what to do; those of the schemas here say so already, valibot's own do not. */
function worded({ message, type, expected, received }: BaseIssue<unknown>): string {
  if (!message.startsWith('Invalid ')) return message
  if (expected === 'never') return `There is no field ${brief(received)} here: leave it out.`
  if (received === 'undefined')
    return expected === 'Object'
      ? 'Give a JSON object as the body.'
      : `Give ${expected ?? 'it'}: it is missing.`
  if (type === 'integer') return 'Expected a whole number.'
  if (type === 'min_length') return `Expected ${expected?.replace('>=', 'at least ')} of them.`
  // Valibot's own end with what was received.
  if (expected === null) return brief(message)
  const wanted = expected
    .replace(/^>=/, 'at least ')
    .replace(/^<=/, 'at most ')
    .replaceAll(' | ', ' or ')
    .replaceAll(/[()]/g, '')
  return `Expected ${wanted}.`
}

/** The value as its schema reads it, defaults filled in. Throws AppError `validation_failed`. */
export function parse(where: Where, schema: Schema, value: unknown): unknown {
  const result = safeParse(schema, value, { abortPipeEarly: true })
  if (result.success) return result.output
  const issues = result.issues.slice(0, MOST_ISSUES).map((issue) => ({
    path: told(getDotPath(issue) ?? '')
      .slice(0, LONGEST_TEXT)
      .toWellFormed(),
    message: worded(issue),
  }))
  throw invalid(where, issues)
}
