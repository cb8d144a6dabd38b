/**
 * What happened in an organisation as rows: one for each activity, and the counts that every answer but the list reads instead. All in
 * one order, whatever happened, so that no two transactions that write here wait for each other.
 */
import type { Transaction } from 'kysely'
import type { OrgEvent } from '../api/rest/org.ts'
import { newId } from '../crypto/id.ts'
import type { Schema } from './schema.ts'

export const PREFIX = 'act_'
export const DAY_MS = 24 * 3_600_000
export const MINUTE_MS = 60_000
/** The minutes of a month and a day are kept: no window of an alert begins before. */
const KEPT_MINUTES = (31 * DAY_MS) / MINUTE_MS
/** So many are written by one query. */
const AT_ONCE = 200

/** What happened. */
export interface Activity {
  readonly event: OrgEvent
  /** The account that did it; null for nobody. */
  readonly actor: string | null
  /** The id of what it is about. */
  readonly target?: string | null
  /** Texts by name: no secret and no words. */
  readonly data?: Readonly<Record<string, string>>
}

/** The day of a time in Unix milliseconds, counted from 1970 in UTC. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS)

/** The minute of a time in Unix milliseconds, counted from 1970. */
export const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS)

/** The keys in order, each with how often it is there; null counts for nothing. */
function counted(keys: readonly (string | null)[]): [key: string, count: number][] {
  const counts = new Map<string, number>()
  for (const key of keys) if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Do something with each few of them, one after the other. */
async function fewAtOnce<T>(all: readonly T[], work: (few: T[]) => Promise<unknown>) {
  for (let from = 0; from < all.length; from += AT_ONCE) await work(all.slice(from, from + AT_ONCE))
}

/** Count activities: of all time by event, by day and event, by minute and event, by day and actor. */
async function count(
  trx: Transaction<Schema>,
  organisation_id: string,
  activities: readonly Activity[],
  at: number,
): Promise<void> {
  const [day, minute] = [dayOf(at), minuteOf(at)]
  const events = counted(activities.map(({ event }) => event))
  await trx
    .insertInto('organisation_totals')
    .values(events.map(([event, times]) => ({ organisation_id, event, count: times })))
    .onConflict((conflict) =>
      conflict.columns(['organisation_id', 'event']).doUpdateSet((row) => ({
        count: row('organisation_totals.count', '+', row.ref('excluded.count')),
      })),
    )
    .execute()
  await trx
    .insertInto('organisation_event_days')
    .values(events.map(([event, times]) => ({ organisation_id, day, event, count: times })))
    .onConflict((conflict) =>
      conflict.columns(['organisation_id', 'day', 'event']).doUpdateSet((row) => ({
        count: row('organisation_event_days.count', '+', row.ref('excluded.count')),
      })),
    )
    .execute()
  await trx
    .insertInto('organisation_event_minutes')
    .values(events.map(([event, times]) => ({ organisation_id, event, minute, count: times })))
    .onConflict((conflict) =>
      conflict.columns(['organisation_id', 'event', 'minute']).doUpdateSet((row) => ({
        count: row('organisation_event_minutes.count', '+', row.ref('excluded.count')),
      })),
    )
    .execute()
  await trx
    .deleteFrom('organisation_event_minutes')
    .where('organisation_id', '=', organisation_id)
    .where(
      'event',
      'in',
      events.map(([event]) => event),
    )
    .where('minute', '<', minute - KEPT_MINUTES)
    .execute()
  await fewAtOnce(counted(activities.map(({ actor }) => actor)), (few) =>
    trx
      .insertInto('organisation_actor_days')
      .values(few.map(([actor_id, times]) => ({ organisation_id, day, actor_id, count: times })))
      .onConflict((conflict) =>
        conflict.columns(['organisation_id', 'day', 'actor_id']).doUpdateSet((row) => ({
          count: row('organisation_actor_days.count', '+', row.ref('excluded.count')),
        })),
      )
      .execute(),
  )
}

/**
 * Write activities and count them, and nothing else: no alert hears of them.
 * @param at Unix milliseconds
 */
export async function writeActivities(
  trx: Transaction<Schema>,
  organisation: string,
  activities: readonly Activity[],
  at: number,
): Promise<void> {
  if (activities.length === 0) return
  await fewAtOnce(activities, (few) =>
    trx
      .insertInto('organisation_activities')
      .values(
        few.map(({ event, actor, target = null, data = {} }) => ({
          id: newId(PREFIX, at),
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
  await count(trx, organisation, activities, at)
}
