/**
 * What happened in an organisation as rows: one for each activity, and the counts that every answer but the list reads instead. All in
 * one order, whatever happened, so that no two transactions that write here wait for each other.
 */
import type { Transaction } from 'kysely'
import type { OrgEvent } from '../../api/rest/org.ts'
import { newId } from '../../crypto/encoding/id.ts'
import type { Schema } from '../db/schema.ts'

export const PREFIX = 'act_'
export const DAY_MS = 24 * 3_600_000
export const MINUTE_MS = 60_000
/** What is a month and a day old when it is heard of is counted and listed, and no alert fires for it. */
export const JUDGED_MS = 31 * DAY_MS
/** No window of an alert that is judged begins before the minutes that are kept: the longest has thirty days. */
const KEPT_MINUTES = (JUDGED_MS + 31 * DAY_MS) / MINUTE_MS
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
  /** When it happened, Unix milliseconds; unless told, with the act that writes it. */
  readonly at?: number
}

/** One that says when. */
type Dated = Activity & { readonly at: number }

/** The day of a time in Unix milliseconds, counted from 1970 in UTC. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS)

/** The minute of a time in Unix milliseconds, counted from 1970. */
export const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS)

/** Each of several things once, with how often it is there: in one order, whichever they are. */
function counted<T extends object>(things: readonly T[]): (T & { count: number })[] {
  const groups = Map.groupBy(things, (thing) => Object.values(thing).join(' '))
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, same]) => ({ ...(same[0] as T), count: same.length }))
}

/** Do something with each few of them, one after the other. */
async function fewAtOnce<T>(all: readonly T[], work: (few: T[]) => Promise<unknown>) {
  for (let from = 0; from < all.length; from += AT_ONCE) await work(all.slice(from, from + AT_ONCE))
}

/** Count activities, each when it happened: of all time by event, by day and event, by minute and event, by day and actor. */
async function count(
  trx: Transaction<Schema>,
  organisation_id: string,
  activities: readonly Dated[],
  now: number,
): Promise<void> {
  const events = counted(activities.map(({ event }) => ({ event })))
  await trx
    .insertInto('organisation_totals')
    .values(events.map((row) => ({ organisation_id, ...row })))
    .onConflict((conflict) =>
      conflict.columns(['organisation_id', 'event']).doUpdateSet((row) => ({
        count: row('organisation_totals.count', '+', row.ref('excluded.count')),
      })),
    )
    .execute()
  const days = counted(activities.map(({ at, event }) => ({ day: dayOf(at), event })))
  await fewAtOnce(days, (few) =>
    trx
      .insertInto('organisation_event_days')
      .values(few.map((row) => ({ organisation_id, ...row })))
      .onConflict((conflict) =>
        conflict.columns(['organisation_id', 'day', 'event']).doUpdateSet((row) => ({
          count: row('organisation_event_days.count', '+', row.ref('excluded.count')),
        })),
      )
      .execute(),
  )
  const minutes = counted(activities.map(({ at, event }) => ({ event, minute: minuteOf(at) })))
  await fewAtOnce(minutes, (few) =>
    trx
      .insertInto('organisation_event_minutes')
      .values(few.map((row) => ({ organisation_id, ...row })))
      .onConflict((conflict) =>
        conflict.columns(['organisation_id', 'event', 'minute']).doUpdateSet((row) => ({
          count: row('organisation_event_minutes.count', '+', row.ref('excluded.count')),
        })),
      )
      .execute(),
  )
  await trx
    .deleteFrom('organisation_event_minutes')
    .where('organisation_id', '=', organisation_id)
    .where(
      'event',
      'in',
      events.map(({ event }) => event),
    )
    .where('minute', '<', minuteOf(now) - KEPT_MINUTES)
    .execute()
  const actors = counted(
    activities.flatMap(({ at, actor: actor_id }) =>
      actor_id === null ? [] : [{ day: dayOf(at), actor_id }],
    ),
  )
  await fewAtOnce(actors, (few) =>
    trx
      .insertInto('organisation_actor_days')
      .values(few.map((row) => ({ organisation_id, ...row })))
      .onConflict((conflict) =>
        conflict.columns(['organisation_id', 'day', 'actor_id']).doUpdateSet((row) => ({
          count: row('organisation_actor_days.count', '+', row.ref('excluded.count')),
        })),
      )
      .execute(),
  )
}

/**
 * Write activities and count them, and nothing else: no alert hears of them. They are listed in the order in which the server hears of
 * them, whenever they happened.
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
          id: newId(PREFIX, now),
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
