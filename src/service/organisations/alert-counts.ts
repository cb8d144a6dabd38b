/**
 * Counts the activities in alerts' windows. Whole days and minutes of a window are counted from
 * stored counts. For the minute in which a window begins, single activities are read, but no more
 * than are needed to reach the threshold.
 */
import type { Transaction } from 'kysely'
import { DAY_MS, MINUTE_MS, dayOf, minuteOf } from './activity-rows.ts'
import type { Schema } from '../db/schema.ts'

const MINUTES_OF_DAY = DAY_MS / MINUTE_MS

/** The window of an alert, in Unix milliseconds. */
export interface Window {
  readonly event: string
  /** The window begins after this time. */
  readonly since: number
  /** The window ends with the minute of this time. */
  readonly until: number
}

/**
 * Returns the number of activities from minute `from` (inclusive) to `to` (exclusive) of one day.
 * Minutes are counted from 1970.
 */
type Minutes = (from: number, to: number) => number

/**
 * Returns a function that counts within a day. It uses prefix sums, because a device that sends
 * entries that are weeks old causes many windows on one day.
 */
function minutesIn(
  day: number,
  rows: readonly Pick<Schema['organisation_event_minutes'], 'minute' | 'count'>[],
): Minutes {
  const first = day * MINUTES_OF_DAY
  const before = Array.from({ length: MINUTES_OF_DAY + 1 }, () => 0)
  for (const { minute, count } of rows) before[minute - first + 1] = Number(count)
  for (let i = 1; i < before.length; i++) before[i]! += before[i - 1]!
  const until = (minute: number) => before[Math.min(Math.max(minute - first, 0), MINUTES_OF_DAY)]!
  return (from, to) => until(to) - until(from)
}

const sum = (rows: readonly { count: number }[]) =>
  rows.reduce((total, { count }) => total + Number(count), 0)

/** Returns the first minute of each day that the windows need, by event and day. */
function beginnings(windows: readonly Window[]): Map<string, number> {
  const lowest = new Map<string, number>()
  const need = (event: string, minute: number) => {
    const key = `${event} ${dayOf(minute * MINUTE_MS)}`
    lowest.set(key, Math.min(minute, lowest.get(key) ?? minute))
  }
  for (const { event, since, until } of windows) {
    need(event, minuteOf(since))
    if (dayOf(until) > dayOf(since)) need(event, dayOf(until) * MINUTES_OF_DAY)
  }
  return lowest
}

/**
 * Reads the counts for the days of these windows in one query.
 * @param windows the windows; at least one
 * @returns a function that checks whether a window has at least `threshold` activities
 */
export async function countsIn(
  trx: Transaction<Schema>,
  organisation: string,
  windows: readonly Window[],
): Promise<(window: Window, threshold: number) => Promise<boolean>> {
  const days = await trx
    .selectFrom('organisation_event_days')
    .select(['day', 'event', 'count'])
    .where('organisation_id', '=', organisation)
    .where(
      'day',
      '>=',
      dayOf(windows.reduce((least, { since }) => Math.min(least, since), Infinity)),
    )
    .where('day', '<=', dayOf(windows.reduce((most, { until }) => Math.max(most, until), 0)))
    .where('event', 'in', [...new Set(windows.map(({ event }) => event))])
    .execute()
  const byEvent = Map.groupBy(days, ({ event }) => event)
  const lowest = beginnings(windows)
  const read = new Map<string, Minutes>()

  const inDays = (event: string, from: number, to: number) =>
    sum((byEvent.get(event) ?? []).filter(({ day }) => day >= from && day <= to))

  /** Returns the counts of a day's minutes, as far as the windows need them. */
  async function minutesOf(event: string, day: number): Promise<Minutes> {
    const key = `${event} ${day}`
    const known = read.get(key)
    if (known !== undefined) return known
    const minutes = await trx
      .selectFrom('organisation_event_minutes')
      .select(['minute', 'count'])
      .where('organisation_id', '=', organisation)
      .where('event', '=', event)
      .where('minute', '>=', lowest.get(key) ?? day * MINUTES_OF_DAY)
      .where('minute', '<', (day + 1) * MINUTES_OF_DAY)
      .execute()
    const counted = minutesIn(day, minutes)
    read.set(key, counted)
    return counted
  }

  /**
   * Returns whether at least `count` activities in a window's first minute are inside the window.
   */
  async function areInFirstMinute({ event, since }: Window, count: number): Promise<boolean> {
    const last = await trx
      .selectFrom('organisation_activities')
      .select('at')
      .where('organisation_id', '=', organisation)
      .where('event', '=', event)
      .where('at', '>', since)
      .where('at', '<', (minuteOf(since) + 1) * MINUTE_MS)
      .orderBy('at')
      .offset(count - 1)
      .limit(1)
      .executeTakeFirst()
    return last !== undefined
  }

  return async (window, threshold) => {
    const { event, since, until } = window
    const [first, last] = [dayOf(since), dayOf(until)]
    if (inDays(event, first, last) < threshold) return false
    const missing = threshold - inDays(event, first + 1, last - 1)
    if (missing <= 0) return true
    const [begins, ends] = [minuteOf(since), minuteOf(until)]
    const begun = await minutesOf(event, first)
    const ended = last === first ? () => 0 : await minutesOf(event, last)
    const more = missing - begun(begins + 1, ends + 1) - ended(begins + 1, ends + 1)
    if (more <= 0) return true
    if (begun(begins, begins + 1) < more) return false
    return areInFirstMinute(window, more)
  }
}
