/**
 * Activity of organisations: what an act that concerns one leaves there, in the transaction of that act. It is counted as it is written,
 * so that no summary reads the history.
 */
import type { Transaction } from 'kysely'
import type { Session } from '../api/port.ts'
import { activeOrganisation } from './active-organisation.ts'
import { type Activity, writeActivities } from './org-activity-rows.ts'
import { type Post, fireAlerts, holdDue } from './org-alert-firing.ts'
import type { Schema } from './schema.ts'

export type { Activity, Post }

/**
 * Write what happened in an organisation, and fire the alerts that wait for it. At the very end of a transaction: nobody who holds what
 * is written here waits for anything else. A transaction that concerns several organisations does so in the order of their ids.
 * @param at Unix milliseconds
 * @param post what the mails of alerts go out with
 */
export async function noteActivities(
  trx: Transaction<Schema>,
  organisation: string,
  activities: readonly Activity[],
  at: number,
  post: Post,
): Promise<void> {
  if (activities.length === 0) return
  const events = [...new Set(activities.map(({ event }) => event))]
  // Whoever changes an alert holds it and then writes that it did: here too the alert comes before what is written.
  const due = await holdDue(trx, organisation, events, at)
  await writeActivities(trx, organisation, activities, at)
  await fireAlerts(trx, organisation, due, at, post)
}

/**
 * The same for what a session did of its own, in the organisation that it acts in; nothing where it acts in none.
 * @param at Unix milliseconds
 */
export async function noteOwn(
  trx: Transaction<Schema>,
  session: Session,
  activities: readonly Omit<Activity, 'actor'>[],
  at: number,
  post: Post,
): Promise<void> {
  if (activities.length === 0) return
  const acting = await activeOrganisation(trx, session)
  if (acting === null) return
  const own = activities.map((activity) => ({ ...activity, actor: session.account }))
  await noteActivities(trx, acting.id, own, at, post)
}
