/** Input judged by the schema of its row, and how its faults are told: alike wherever a request comes in. */
import { type BaseIssue, getDotPath, safeParse } from 'valibot'
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

/** An issue in words that say what to do; those of the schemas here say so already, valibot's own do not. */
function worded({ message, type, expected, received }: BaseIssue<unknown>): string {
  if (!message.startsWith('Invalid ')) return message
  if (expected === 'never') return `There is no field ${received} here: leave it out.`
  if (received === 'undefined')
    return expected === 'Object'
      ? 'Give a JSON object as the body.'
      : `Give ${expected ?? 'it'}: it is missing.`
  if (type === 'integer') return 'Expected a whole number.'
  if (type === 'min_length') return `Expected ${expected?.replace('>=', 'at least ')} of them.`
  if (expected === null) return message
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
    path: (getDotPath(issue) ?? '').slice(0, LONGEST_TEXT),
    message: worded(issue).slice(0, LONGEST_TEXT),
  }))
  throw invalid(where, issues)
}
