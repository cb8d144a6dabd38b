/** Converts the days of a list query (`betweenDays`) to a span of time. */
import { invalid } from './input.ts'

const DAY_MS = 24 * 3_600_000

/** A span of time in Unix milliseconds: includes `since`, excludes `until`. */
export interface Span {
  readonly since: number
  readonly until: number
}

/** Later than any time in this interface. */
const NEVER = Date.UTC(9999, 11, 31) + DAY_MS

/**
 * Returns the span of some whole days.
 * @throws AppError `validation_failed` at `from`, if it is after `to`
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
  throw invalid('query', [
    { path: 'from', message: 'Give a first day that is not after the last.' },
  ])
}
