/**
 * Inserts histories of organisations of any length into a database at once. A rule derives each
 * activity from its number, and the database counts the activities. The expected figures follow
 * from the rule alone.
 */
import type { Kysely } from 'kysely'
import { OrgEvent } from '../../../src/api/rest/org.ts'
import type { Schema } from '../../../src/service/db/schema.ts'

const DAY = 24 * 3_600_000

export interface History {
  readonly organisation: string
  readonly count: number
  /** The approximate times of the first and the last activity; Unix milliseconds. */
  readonly from: number
  readonly to: number
  /** The actors in turn; after them one activity without an actor. */
  readonly actors: readonly string[]
}

const EVENTS = OrgEvent.options
/** Coprime to the number of events, so that every event is on every day. */
const STRIDE = 5
/**
 * Activities in one query: with more, it would take longer than the engine waits for an answer.
 */
const AT_ONCE = 50_000

const stepOf = ({ from, to, count }: History) => Math.floor((to - from) / count)

/** Returns the activity with a number, from 0 on. */
export function activityAt(history: History, i: number) {
  const { from, actors } = history
  return {
    at: from + i * stepOf(history),
    event: EVENTS[(i * STRIDE) % EVENTS.length]!,
    actor: actors[i % (actors.length + 1)] ?? null,
  }
}

/** Returns the figures of a history, counted one by one; `isIn` selects the days that count. */
export function figuresOf(history: History, isIn: (day: number) => boolean) {
  const byEvent = new Map<string, number>()
  const byActor = new Map<string, number>()
  const byDay = new Map<number, Map<string, number>>()
  const add = <K>(to: Map<K, number>, key: K) => to.set(key, (to.get(key) ?? 0) + 1)
  for (let i = 0; i < history.count; i++) {
    const { at, event, actor } = activityAt(history, i)
    const day = Math.floor(at / DAY)
    if (!isIn(day)) continue
    add(byEvent, event)
    if (actor !== null) add(byActor, actor)
    let own = byDay.get(day)
    if (own === undefined) byDay.set(day, (own = new Map()))
    add(own, event)
  }
  return { byEvent, byActor, byDay }
}

/**
 * The tables of counts: their columns beside the organisation, and the value of each for an
 * activity.
 */
const COUNTS = {
  organisation_totals: { event: 'event' },
  organisation_event_days: { day: `cast(at / ${DAY} as integer)`, event: 'event' },
  organisation_event_minutes: { event: 'event', minute: 'cast(at / 60000 as integer)' },
  organisation_actor_days: { day: `cast(at / ${DAY} as integer)`, actor_id: 'actor_id' },
} as const

/** Counts the activities of a time span into the tables. */
async function countIn(
  db: Kysely<Schema>,
  { organisation }: History,
  { since, until }: { since: number; until: number },
): Promise<void> {
  const { sql } = await import('kysely')
  for (const [table, columns] of Object.entries(COUNTS)) {
    const names = sql.raw(['organisation_id', ...Object.keys(columns)].join())
    const values = sql.raw(['organisation_id', ...Object.values(columns)].join())
    const isActors = table === 'organisation_actor_days'
    await sql`insert into ${sql.raw(table)} (${names}, count)
      select ${values}, count(*) from organisation_activities
      where organisation_id = ${sql.lit(organisation)}
        and at >= ${sql.lit(since)} and at < ${sql.lit(until)}
        ${isActors ? sql`and actor_id is not null` : sql``}
      group by ${values}
      on conflict (${names}) do update set count = ${sql.raw(table)}.count + excluded.count`.execute(
      db,
    )
  }
}

/** Inserts a history into a database. */
export async function fillHistory(db: Kysely<Schema>, history: History): Promise<void> {
  const { sql } = await import('kysely')
  const { organisation, count, from, actors } = history
  const texts = (all: readonly string[]) =>
    sql.join(
      all.map((text, i) => sql`when ${sql.lit(i)} then ${sql.lit(text)}`),
      sql` `,
    )
  const many = sql.lit(EVENTS.length)
  for (let first = 0; first < count; first += AT_ONCE) {
    const end = Math.min(count, first + AT_ONCE)
    await sql`
      insert into organisation_activities (id, organisation_id, at, actor_id, event, target, data)
      with recursive numbers (i) as (
        select ${sql.lit(first)} union all select i + 1 from numbers where i + 1 < ${sql.lit(end)}
      )
      select
        'act_' || substr(cast(10000000000 + i as text), 2) || substr(${sql.lit(organisation)}, 15),
        ${sql.lit(organisation)},
        ${sql.lit(from)} + cast(i as bigint) * ${sql.lit(stepOf(history))},
        case i % ${sql.lit(actors.length + 1)} when -1 then cast(null as text) ${texts(actors)} end,
        case (i * ${sql.lit(STRIDE)}) % ${many} ${texts(EVENTS)} end,
        null,
        '{}'
      from numbers`.execute(db)
    await countIn(db, history, {
      since: activityAt(history, first).at,
      until: activityAt(history, end).at,
    })
  }
}
