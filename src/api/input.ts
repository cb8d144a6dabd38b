/**
 * Validates input against the schema of its row.
 *
 * The errors have the same form for every kind of request.
 */
import { type BaseIssue, getDotPath, safeParse } from 'valibot'
import { redact } from '../crypto/encoding/redact.ts'
import { AppError, type Issue } from '../errors.ts'
import type { RowSchema } from './route.ts'

/**
 * The maximum number of issues in an error.
 *
 * Issues quote the request. Their number and length are limited, so that a large request does not
 * cause a large answer.
 */
const MOST_ISSUES = 20
const LONGEST_TEXT = 200

type Where = 'query' | 'body'

/**
 * Returns the error for an invalid query or body.
 *
 * The issues come from the row's schema or from a later check.
 */
export function invalid(where: Where, issues: readonly Issue[], cause?: unknown): AppError {
  const [first] = issues
  const at = first?.path ? `${where}, ${first.path}` : where
  return new AppError('validation_failed', `The request is not valid (${at}): ${first?.message}`, {
    details: { issues },
    cause,
  })
}

/**
 * Returns the beginning of a text, redacted.
 *
 * Processes more characters than LONGEST_TEXT, because redaction can shorten the text before the
 * text is cut to that length.
 */
const redacted = (text: string): string => redact(text.slice(0, 4 * LONGEST_TEXT))

/**
 * Returns a quote from the request for an error message.
 *
 * Parts that look like secrets are removed. A long text is cut, at the end of a word if possible.
 */
const brief = (text: string): string =>
  text.length <= LONGEST_TEXT
    ? redact(text)
    : `${redacted(text)
        .slice(0, LONGEST_TEXT)
        .toWellFormed()
        .replace(/\s+\S{0,40}$/, '')}…`

/**
 * Returns an issue as an instruction to the caller.
 *
 * Messages of the schemas of this project are instructions already; the default messages of valibot
 * are not.
 */
function worded({ message, type, expected, received }: BaseIssue<unknown>): string {
  if (!message.startsWith('Invalid ')) return message
  if (expected === 'never') return `There is no field ${brief(received)} here. Remove it.`
  if (received === 'undefined')
    return expected === 'Object'
      ? 'The body must be a JSON object.'
      : `${expected ?? 'A value'} is missing.`
  if (type === 'integer') return 'Expected a whole number.'
  if (type === 'min_length') return `Expected ${expected?.replace('>=', 'at least ')} of them.`
  // Default messages of valibot end with the received value.
  if (expected === null) return brief(message)
  const wanted = expected
    .replace(/^>=/, 'at least ')
    .replace(/^<=/, 'at most ')
    .replaceAll(' | ', ' or ')
    .replaceAll(/[()]/g, '')
  return `Expected ${wanted}.`
}

/**
 * Returns a value as parsed by its schema, with defaults filled in.
 * @throws AppError `validation_failed`
 */
export function parse(where: Where, schema: RowSchema, value: unknown): unknown {
  const result = safeParse(schema, value, { abortPipeEarly: true })
  if (result.success) return result.output
  const issues = result.issues.slice(0, MOST_ISSUES).map((issue) => ({
    path: redacted(getDotPath(issue) ?? '')
      .slice(0, LONGEST_TEXT)
      .toWellFormed(),
    message: worded(issue),
  }))
  throw invalid(where, issues)
}

const DAY_MS = 24 * 3_600_000

/** A time span in Unix milliseconds: `since` is inclusive, `until` is exclusive. */
interface Span {
  readonly since: number
  readonly until: number
}

/** A time later than any that this interface can express. */
const NEVER = Date.UTC(9999, 11, 31) + DAY_MS

/**
 * Returns the time span of whole days, as a list query names them (`betweenDays`).
 * @throws AppError `validation_failed` at `from` if `from` is after `to`
 */
export function daySpan({
  from,
  to,
}: {
  from?: string | undefined
  to?: string | undefined
}): Span {
  const since = from === undefined ? 0 : Date.parse(from)
  const until = to === undefined ? NEVER : Date.parse(to) + DAY_MS
  if (since < until) return { since, until }
  throw invalid('query', [{ path: 'from', message: 'The first day must not be after the last.' }])
}
