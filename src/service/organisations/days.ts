/** The days that a summary or a trend is asked for. Days are counted from 1970, in UTC. */
import { invalid } from '../../api/input.ts'
import { dayOf } from './activity-rows.ts'

/** So many days unless told, the last included. */
const USUAL_DAYS = 30

export interface Days {
  /** The first. */
  readonly from: number
  /** The last. */
  readonly to: number
}

/** A day as the wire has it, which its schema has judged. */
const dayIn = (text: string): number => dayOf(Date.parse(text))

/** The fault of a first day. */
export const badFrom = (message: string) => invalid('query', [{ path: 'from', message }])

/**
 * The days of a query, with what is not told: until today, and thirty of them.
 * @param at now, Unix milliseconds
 * @throws AppError `validation_failed` at `from`, where it is after the last
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

/** The Monday of the week of a day (ISO 8601): 1970 began on a Thursday. */
export const mondayOf = (day: number): number => day - ((((day + 3) % 7) + 7) % 7)
