/** The range of days for a summary or a trend. Days are counted from 1970, in UTC. */
import { invalid } from '../../api/input.ts'
import { dayOf } from './activity-rows.ts'

/** The default number of days, the last included. */
const USUAL_DAYS = 30

export interface Days {
  /** The first day. */
  readonly from: number
  /** The last day. */
  readonly to: number
}

/** Returns the day of a date on the wire, which its schema has validated. */
const dayIn = (text: string): number => dayOf(Date.parse(text))

/** Returns the error for an invalid first day. */
export const badFrom = (message: string) => invalid('query', [{ path: 'from', message }])

/**
 * Returns the days of a query. The default is the thirty days until today.
 * @param at now, Unix milliseconds
 * @throws AppError `validation_failed` at `from` if it is after the last day
 */
export function readDays(
  query: { from?: string | undefined; to?: string | undefined },
  at: number,
): Days {
  const to = query.to === undefined ? dayOf(at) : dayIn(query.to)
  const from = query.from === undefined ? to - USUAL_DAYS + 1 : dayIn(query.from)
  if (from > to)
    throw badFrom(
      query.to === undefined
        ? 'Give a first day that has come already, or the last one too.'
        : 'Give a first day that is not after the last.',
    )
  return { from, to }
}

/** Returns the Monday of the week of a day (ISO 8601): 1970 began on a Thursday. */
export const mondayOf = (day: number): number => day - ((((day + 3) % 7) + 7) % 7)
