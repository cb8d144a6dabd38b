/**
 * Activity of organisations. An operation that concerns an organisation stores its activity in
 * its own transaction. The counts are updated in the same transaction, so that no summary reads
 * the history.
 */
import type { Transaction } from 'kysely'
import type { CallerSession } from '../../api/port.ts'
import { activeOrganisation } from '../accounts/active-organisation.ts'
import { type Activity, writeActivities } from './activity-rows.ts'
import { type Post, fireAlerts, holdDue, timesOf } from './alert-firing.ts'
import type { Schema } from '../db/schema.ts'

export type { Activity, Post }

/**
 * Stores activities of an organisation and fires the alerts for their events. Call it at the very
 * end of a transaction: a transaction with locks on these rows must not wait for another lock. A
 * transaction that concerns several organisations calls it in the order of their ids.
 * @param now Unix milliseconds
 * @param post sends the mails of alerts
 */
export async function noteActivities(
  trx: Transaction<Schema>,
  organisation: string,
  activities: readonly Activity[],
  now: number,
  post: Post,
): Promise<void> {
  if (activities.length === 0) return
  const times = timesOf(activities, now)
  // The change of an alert locks the alert before it stores its activity. The order here is the
  // same.
  const due = await holdDue(trx, organisation, times)
  await writeActivities(trx, organisation, activities, now)
  await fireAlerts(trx, organisation, { due, times, now }, post)
}

/**
 * Returns when a session chose its active organisation, in Unix milliseconds. Returns null if it
 * did not choose one, as for a machine account.
 */
async function actsSince(
  trx: Transaction<Schema>,
  { account, session }: CallerSession,
): Promise<number | null> {
  const row = await trx
    .selectFrom('sessions')
    .select('active_since')
    .where('id', '=', session)
    .where('account_id', '=', account)
    .executeTakeFirst()
  return row?.active_since ?? null
}

/**
 * Stores the activities of a session in its active organisation, if it has one. Activities from
 * before the session chose that organisation are skipped.
 * @param now Unix milliseconds
 */
export async function noteOwn(
  trx: Transaction<Schema>,
  session: CallerSession,
  activities: readonly Omit<Activity, 'actor'>[],
  now: number,
  post: Post,
): Promise<void> {
  if (activities.length === 0) return
  const acting = await activeOrganisation(trx, session)
  if (acting === null) return
  const isOfBefore = activities.some(({ at }) => at !== undefined)
  const since = isOfBefore ? await actsSince(trx, session) : null
  const own = activities
    .filter(({ at = now }) => since === null || at >= since)
    .map((activity) => ({ ...activity, actor: session.account }))
  await noteActivities(trx, acting.id, own, now, post)
}
