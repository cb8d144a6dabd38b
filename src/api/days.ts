/** The days that a list is asked for, as `betweenDays` has them. */
import { invalid } from './input.ts'

const DAY_MS = 24 * 3_600_000

/** A span of time in Unix milliseconds: `since` is in it, `until` is not. */
export interface Span {
  readonly since: number
  readonly until: number
}

/** Later than any time of this wire. */
const NEVER = Date.UTC(9999, 11, 31) + DAY_MS

/**
 * The span of some days, each of them whole.
 * @throws AppError `validation_failed` at `from`, where it is after `to`
 */
export function spanOf({ from, to }: { from?: string | undefined; to?: string | undefined }): Span {
  const since = from === undefined ? 0 : Date.parse(from)
  const until = to === undefined ? NEVER : Date.parse(to) + DAY_MS
  if (since < until) return { since, until }
  throw invalid('query', [
    { path: 'from', message: 'Give a first day that is not after the last.' },
  ])
}
