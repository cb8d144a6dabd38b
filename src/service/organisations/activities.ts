/**
 * Activity of organisations: what an act that concerns one leaves there, in the transaction of that act. It is counted as it is written,
 * so that no summary reads the history.
 */
import type { Transaction } from 'kysely'
import type { Session } from '../../api/port.ts'
import { activeOrganisation } from '../accounts/active-organisation.ts'
import { type Activity, writeActivities } from './activity-rows.ts'
import { type Post, fireAlerts, holdDue, timesOf } from './alert-firing.ts'
import type { Schema } from '../db/schema.ts'

export type { Activity, Post }

/**
 * Write what happened in an organisation, and fire the alerts that wait for it. At the very end of a transaction: nobody who holds what
 * is written here waits for anything else. A transaction that concerns several organisations does so in the order of their ids.
 * @param now Unix milliseconds
 * @param post what the mails of alerts go out with
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
  // Whoever changes an alert holds it and then writes that it did: here too the alert comes before what is written.
  const due = await holdDue(trx, organisation, times)
  await writeActivities(trx, organisation, activities, now)
  await fireAlerts(trx, organisation, { due, times, now }, post)
}

/** Since when a session acts in the organisation that is active for it; null where it has not chosen, as a machine account's. */
async function actsSince(
  trx: Transaction<Schema>,
  { account, session }: Session,
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
 * The same for what a session did of its own, in the organisation that it acts in; nothing where it acts in none. What it did before it
 * chose that one was not done there.
 * @param now Unix milliseconds
 */
export async function noteOwn(
  trx: Transaction<Schema>,
  session: Session,
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
