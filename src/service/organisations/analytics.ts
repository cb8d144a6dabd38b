/**
 * The activity of the caller's active organisation: the list (newest first), the summary with
 * counts by event and by actor, the dashboard's figures, and trends. All but the list are computed
 * from stored counts.
 */
import type { Kysely } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { daySpan, invalid } from '../../api/input.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { OrgActivity, OrgEvent } from '../../api/rest/org.ts'
import { firstIdAt } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import { pageRows } from '../db/collections.ts'
import type { Schema } from '../db/schema.ts'
import { ACTIVITY_PREFIX, DAY_MS, dayOf } from './activity-rows.ts'
import { requireActing } from './organisations.ts'

/** The default number of days, including the last. */
const USUAL_DAYS = 30

interface Days {
  /** The first day. */
  readonly from: number
  /** The last day. */
  readonly to: number
}

/** Returns the day of a date in a request. The date must be validated. */
const dayIn = (text: string): number => dayOf(Date.parse(text))

/** Returns the error for an invalid first day. */
const badFrom = (message: string) => invalid('query', [{ path: 'from', message }])

/**
 * Returns the days of a query. The default is the 30 days that end today.
 * @param at now, Unix milliseconds
 * @throws AppError `validation_failed` at `from` if it is after the last day
 */
function readDays(query: { from?: string | undefined; to?: string | undefined }, at: number): Days {
  const to = query.to === undefined ? dayOf(at) : dayIn(query.to)
  const from = query.from === undefined ? to - USUAL_DAYS + 1 : dayIn(query.from)
  if (from > to)
    throw badFrom(
      query.to === undefined
        ? 'The first day must not be in the future, unless you also give the last day.'
        : 'The first day must not be after the last.',
    )
  return { from, to }
}

/** Returns the Monday of a day's week (ISO 8601). Day 0, 1 January 1970, was a Thursday. */
const mondayOf = (day: number): number => day - ((((day + 3) % 7) + 7) % 7)

/** How many days a summary may cover: one year, also a leap year. */
const MOST_DAYS = 366
/** How many actors a summary lists, the most active first. */
const MOST_ACTORS = 100

const actorOf = (user_id: string | null, display_name: string | null) =>
  user_id === null || display_name === null ? null : { user_id, display_name }

export const orgActivity = ({
  db,
  now,
}: Pick<ServiceContext, 'db' | 'now'>): Service['orgActivity'] => ({
  list: async (page, session) => {
    const { since, until } = daySpan(page)
    const acting = await requireActing(db, session)
    const rows = await pageRows(
      db
        .selectFrom('organisation_activities as activity')
        .leftJoin('accounts', 'accounts.id', 'activity.actor_id')
        .select(['activity.id', 'at', 'actor_id', 'display_name', 'event', 'target', 'data'])
        .where('organisation_id', '=', acting.id)
        // Compares ids, which contain the time of receipt, to use the index. An activity is never
        // received before it happened.
        .where('activity.id', '>=', firstIdAt(ACTIVITY_PREFIX, since))
        .where('at', '>=', since)
        .where('at', '<', until),
      page,
      ACTIVITY_PREFIX,
      'activity.id',
    )
    return pageOf(
      rows.map(({ id, at, actor_id, display_name, event, target, data }): OrgActivity => {
        const actor = actorOf(actor_id, display_name)
        const parsed = JSON.parse(data) as OrgActivity['data']
        return { id, at: timeAt(at), actor, event: event as OrgEvent, target, data: parsed }
      }),
      page,
    )
  },

  summary: async (query, session) => {
    const acting = await requireActing(db, session)
    const { from, to } = readDays(query, now())
    if (to - from >= MOST_DAYS)
      throw badFrom(`A summary may span at most ${MOST_DAYS} days. Choose a later first day.`)
    const [events, actors] = await Promise.all([
      db
        .selectFrom('organisation_event_days')
        .select(({ fn }) => ['event', fn.sum('count').as('sum')])
        .where('organisation_id', '=', acting.id)
        .where('day', '>=', from)
        .where('day', '<=', to)
        .groupBy('event')
        .orderBy('sum', 'desc')
        .orderBy('event')
        .execute(),
      db
        .selectFrom((of) =>
          of
            .selectFrom('organisation_actor_days')
            .select(({ fn }) => ['actor_id', fn.sum('count').as('sum')])
            .where('organisation_id', '=', acting.id)
            .where('day', '>=', from)
            .where('day', '<=', to)
            .groupBy('actor_id')
            .orderBy('sum', 'desc')
            .orderBy('actor_id')
            .limit(MOST_ACTORS)
            .as('busiest'),
        )
        .innerJoin('accounts', 'accounts.id', 'actor_id')
        .select(['actor_id', 'display_name', 'sum'])
        .orderBy('sum', 'desc')
        .orderBy('actor_id')
        .execute(),
    ])
    return {
      from: timeAt(from * DAY_MS),
      to: timeAt((to + 1) * DAY_MS - 1),
      by_event: events.map(({ event, sum }) => ({ event: event as OrgEvent, count: Number(sum) })),
      by_actor: actors.map(({ actor_id, display_name, sum }) => ({
        actor: { user_id: actor_id, display_name },
        count: Number(sum),
      })),
    }
  },
})

const WEEK = 7

/**
 * The length of a bucket in days, and the maximum number of buckets in a trend: about one year of
 * days or ten years of weeks.
 */
const BUCKETS = {
  day: {
    days: 1,
    most: 366,
    tooMany:
      'A trend by day may span at most 366 days. Use bucket=week, or choose a later first day.',
  },
  week: {
    days: WEEK,
    most: 530,
    tooMany: 'A trend by week may span at most 530 weeks. Choose a later first day.',
  },
} as const

/** Returns the number of members in each state, including invited mailboxes. */
async function countMembers(db: Kysely<Schema>, organisation: string) {
  const states = await db
    .selectFrom('organisation_members')
    .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
    .where('organisation_id', '=', organisation)
    .groupBy('state')
    .execute()
  const invites = await db
    .selectFrom('organisation_invites')
    .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
    .where('organisation_id', '=', organisation)
    .groupBy('state')
    .execute()
  const counts = { invited: 0, active: 0, suspended: 0 }
  for (const { state, count } of [...states, ...invites]) counts[state] += Number(count)
  return counts
}

async function countThings(
  db: Kysely<Schema>,
  table: 'machines' | 'organisation_groups',
  organisation: string,
): Promise<number> {
  const { count } = await db
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organisation_id', '=', organisation)
    .executeTakeFirstOrThrow()
  return count
}

/** Returns how often each event happened since the organisation was created. */
async function totals(
  db: Kysely<Schema>,
  organisation: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('organisation_totals')
    .select(['event', 'count'])
    .where('organisation_id', '=', organisation)
    .execute()
  return new Map(rows.map(({ event, count }) => [event, count]))
}

/** Returns the number of activities on each day with at least one. */
async function countsByDay(
  db: Kysely<Schema>,
  { organisation, metric }: { organisation: string; metric: string },
  { from, to }: Days,
): Promise<{ day: number; count: number }[]> {
  const rows = await db
    .selectFrom('organisation_event_days')
    .select(({ fn }) => ['day', fn.sum('count').as('sum')])
    .where('organisation_id', '=', organisation)
    .where('day', '>=', from)
    .where('day', '<=', to)
    .$if(metric !== 'activity', (query) => query.where('event', '=', metric))
    .groupBy('day')
    .execute()
  return rows.map(({ day, sum }) => ({ day, count: Number(sum) }))
}

export const orgAnalytics = ({
  db,
  now,
}: Pick<ServiceContext, 'db' | 'now'>): Service['orgAnalytics'] => ({
  dashboard: async (_, session) => {
    const acting = await requireActing(db, session)
    const [members, machines, groups, counts] = await Promise.all([
      countMembers(db, acting.id),
      countThings(db, 'machines', acting.id),
      countThings(db, 'organisation_groups', acting.id),
      totals(db, acting.id),
    ])
    const of = (event: OrgEvent) => counts.get(event) ?? 0
    return {
      members,
      machines,
      groups,
      connections: of('connection_created'),
      verifications: of('verification'),
      stamps: of('stamp'),
      alerts_fired: of('alert_fired'),
      activities: [...counts.values()].reduce((sum, count) => sum + count, 0),
    }
  },

  /**
   * Returns a trend. A week begins on Monday (ISO 8601). Of the first and the last week, only the
   * requested days are counted.
   */
  trends: async ({ metric, bucket, ...query }, session) => {
    const acting = await requireActing(db, session)
    const days = readDays(query, now())
    const { days: length, most, tooMany } = BUCKETS[bucket]
    const startOf = bucket === 'week' ? mondayOf : (day: number) => day
    const first = startOf(days.from)
    const indexOf = (day: number) => (startOf(day) - first) / length
    const buckets = indexOf(days.to) + 1
    if (buckets > most) throw badFrom(tooMany)
    const values = Array.from({ length: buckets }, () => 0)
    for (const { day, count } of await countsByDay(db, { organisation: acting.id, metric }, days))
      values[indexOf(day)]! += count
    return {
      metric,
      bucket,
      points: values.map((value, i) => ({ at: timeAt((first + i * length) * DAY_MS), value })),
    }
  },
})
