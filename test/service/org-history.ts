/**
 * Histories of organisations as long as one likes, put into a database at once: the activities by a rule that says what each is, their
 * counts by the database from the activities. What the figures should be follows from the rule alone.
 */
import type { Kysely } from 'kysely'
import { OrgEvent } from '../../src/api/rest/org.ts'
import type { Schema } from '../../src/service/schema.ts'

const DAY = 24 * 3_600_000

export interface History {
  readonly organisation: string
  readonly count: number
  /** When the first and the last happened, about; Unix milliseconds. */
  readonly from: number
  readonly to: number
  /** Who did it, in turn, and then nobody. */
  readonly actors: readonly string[]
}

const EVENTS = OrgEvent.options
/** Shares no factor with the number of events, so that all of them are on every day. */
const STRIDE = 5
/** So many are made by one query, or it would take longer than the engine waits for an answer. */
const AT_ONCE = 50_000

const stepOf = ({ from, to, count }: History) => Math.floor((to - from) / count)

/** What the activity of a number is, from 0 on. */
export function activityAt(history: History, i: number) {
  const { from, actors } = history
  return {
    at: from + i * stepOf(history),
    event: EVENTS[(i * STRIDE) % EVENTS.length]!,
    actor: actors[i % (actors.length + 1)] ?? null,
  }
}

/** Figures of a history, counted one by one; `isIn` says which days count. */
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

/** Put a history into a database. */
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
  }
  const day = sql.raw(`cast(at / ${DAY} as integer)`)
  const own = sql`from organisation_activities where organisation_id = ${sql.lit(organisation)}`
  await sql`insert into organisation_totals
    select organisation_id, event, count(*) ${own} group by 1, 2`.execute(db)
  await sql`insert into organisation_event_days
    select organisation_id, ${day}, event, count(*) ${own} group by 1, 2, 3`.execute(db)
  await sql`insert into organisation_event_minutes
    select organisation_id, event, cast(at / 60000 as integer), count(*) ${own} group by 1, 2, 3`.execute(
    db,
  )
  await sql`insert into organisation_actor_days
    select organisation_id, ${day}, actor_id, count(*) ${own} and actor_id is not null
    group by 1, 2, 3`.execute(db)
}
