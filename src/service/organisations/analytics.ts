/**
 * Figures of the caller's active organisation, all from stored counts: none reads the history.
 */
import type { Kysely } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { OrgEvent } from '../../api/rest/org.ts'
import type { ServiceContext } from '../context.ts'
import { DAY_MS } from './activity-rows.ts'
import { type Days, badFrom, mondayOf, readDays } from './days.ts'
import { requireActing } from './access-level.ts'
import type { Schema } from '../db/schema.ts'

const WEEK = 7

/**
 * The length of each bucket in days, and the most buckets of a trend: a year of days or ten years
 * of weeks.
 */
const BUCKETS = {
  day: {
    days: 1,
    most: 366,
    tooMany:
      'A trend by day is of at most 366 days: ask by week (bucket=week), or let it begin later.',
  },
  week: {
    days: WEEK,
    most: 530,
    tooMany: 'A trend by week is of at most 530 weeks: let it begin later.',
  },
} as const

/** Returns the number of members in each state, with the invited mailboxes. */
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

/** Returns the number of activities on each day that has any. */
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
   * A week begins on Monday (ISO 8601). The first and the last week count only the requested
   * days.
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
