/**
 * Rows of activities: one row for each activity, and counts. All responses except the list are
 * built from the counts. All transactions write the rows in the same order, so that they cannot
 * deadlock.
 */
import type { Transaction } from 'kysely'
import type { OrgEvent } from '../../api/rest/org.ts'
import { newId } from '../../crypto/encoding/id.ts'
import type { Schema } from '../db/schema.ts'

export const ACTIVITY_PREFIX = 'act_'
export const DAY_MS = 24 * 3_600_000
export const MINUTE_MS = 60_000
/**
 * The age, in milliseconds, above which an activity fires no alert. It is still counted and listed.
 */
export const JUDGED_MS = 31 * DAY_MS
/**
 * For how many minutes counts by minute are kept. No window of an alert can begin earlier, because
 * the longest window has 30 days.
 */
const KEPT_MINUTES = (JUDGED_MS + 31 * DAY_MS) / MINUTE_MS
/** How many rows one query inserts at most. */
const AT_ONCE = 200

/** An activity to store. */
export interface Activity {
  readonly event: OrgEvent
  /** The account that caused it; null if no account did. */
  readonly actor: string | null
  /** The id of what the activity was about. */
  readonly target?: string | null
  /** Texts by name. They must not contain secrets or words. */
  readonly data?: Readonly<Record<string, string>>
  /** When it happened, Unix milliseconds. The default is when it is stored. */
  readonly at?: number
}

/** An activity with a time. */
type Dated = Activity & { readonly at: number }

/** Returns the day of a time in Unix milliseconds, counted from 1970 in UTC. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS)

/** Returns the minute of a time in Unix milliseconds, counted from 1970. */
export const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS)

/** Returns each distinct object once, with its number of occurrences, in a fixed order. */
function counted<T extends object>(things: readonly T[]): (T & { count: number })[] {
  const groups = Map.groupBy(things, (thing) => Object.values(thing).join(' '))
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, same]) => ({ ...(same[0] as T), count: same.length }))
}

/** Calls `work` with slices of the list, one after the other. */
async function fewAtOnce<T>(all: readonly T[], work: (few: T[]) => Promise<unknown>) {
  for (let from = 0; from < all.length; from += AT_ONCE) await work(all.slice(from, from + AT_ONCE))
}

type CountTable =
  | 'organisation_totals'
  | 'organisation_event_days'
  | 'organisation_event_minutes'
  | 'organisation_actor_days'

/** A row of one of the tables with counts. Each table has only some of these columns. */
interface CountRow {
  readonly organisation_id: string
  readonly event?: string
  readonly day?: number
  readonly minute?: number
  readonly actor_id?: string
  readonly count: number
}

/** Adds to the count of each key the number of times that the key occurs in `keys`. */
async function addCounts(
  trx: Transaction<Schema>,
  table: CountTable,
  keys: readonly Omit<CountRow, 'count'>[],
): Promise<void> {
  const counts = trx as unknown as Transaction<Record<CountTable, CountRow>>
  await fewAtOnce(counted(keys), (few) =>
    counts
      .insertInto(table)
      .values(few)
      .onConflict((conflict) =>
        conflict.columns(Object.keys(keys[0]!) as (keyof CountRow)[]).doUpdateSet((row) => ({
          count: row(`${table}.count`, '+', row.ref('excluded.count')),
        })),
      )
      .execute(),
  )
}

/** Counts activities by event, by day and event, by minute and event, and by day and actor. */
async function count(
  trx: Transaction<Schema>,
  organisation_id: string,
  activities: readonly Dated[],
  now: number,
): Promise<void> {
  const keysOf = <T extends object>(keyOf: (activity: Dated) => T) =>
    activities.map((activity) => ({ organisation_id, ...keyOf(activity) }))
  const events = keysOf(({ event }) => ({ event }))
  await addCounts(trx, 'organisation_totals', events)
  const days = keysOf(({ at, event }) => ({ day: dayOf(at), event }))
  await addCounts(trx, 'organisation_event_days', days)
  const minutes = keysOf(({ at, event }) => ({ event, minute: minuteOf(at) }))
  await addCounts(trx, 'organisation_event_minutes', minutes)
  await trx
    .deleteFrom('organisation_event_minutes')
    .where('organisation_id', '=', organisation_id)
    .where('event', 'in', [...new Set(activities.map(({ event }) => event))])
    .where('minute', '<', minuteOf(now) - KEPT_MINUTES)
    .execute()
  const actors = activities.flatMap(({ at, actor: actor_id }) =>
    actor_id === null ? [] : [{ organisation_id, day: dayOf(at), actor_id }],
  )
  await addCounts(trx, 'organisation_actor_days', actors)
}

/**
 * Stores and counts activities without firing alerts. The list shows them in the order in which the
 * server received them, not in the order in which they happened.
 * @param now Unix milliseconds
 */
export async function writeActivities(
  trx: Transaction<Schema>,
  organisation: string,
  activities: readonly Activity[],
  now: number,
): Promise<void> {
  if (activities.length === 0) return
  const dated = activities.map((activity): Dated => ({ at: now, ...activity }))
  await fewAtOnce(dated, (few) =>
    trx
      .insertInto('organisation_activities')
      .values(
        few.map(({ event, actor, target = null, data = {}, at }) => ({
          id: newId(ACTIVITY_PREFIX, now),
          organisation_id: organisation,
          at,
          actor_id: actor,
          event,
          target,
          data: JSON.stringify(data),
        })),
      )
      .execute(),
  )
  await count(trx, organisation, dated, now)
}
