/**
 * Activity of the caller's active organisation: the list, newest first, and the summary with
 * counts by event and by actor.
 */
import { pageOf } from '../../api/cursor.ts'
import { daySpan } from '../../api/days.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { OrgActivity, OrgEvent } from '../../api/rest/org.ts'
import { firstIdAt } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import { DAY_MS, ACTIVITY_PREFIX } from './activity-rows.ts'
import { badFrom, readDays } from './days.ts'
import { requireActing } from './access-level.ts'
import { pageRows } from '../db/page-rows.ts'

/** A summary covers a year at most; a leap year has 366 days. */
const MOST_DAYS = 366
/** The number of actors in a summary, the most active first. */
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
        // The server may receive an activity later than it happened, never earlier.
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
        const said = JSON.parse(data) as OrgActivity['data']
        return { id, at: timeAt(at), actor, event: event as OrgEvent, target, data: said }
      }),
      page,
    )
  },

  summary: async (query, session) => {
    const acting = await requireActing(db, session)
    const { from, to } = readDays(query, now())
    if (to - from >= MOST_DAYS)
      throw badFrom(`A summary is of at most ${MOST_DAYS} days: let it begin later.`)
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
