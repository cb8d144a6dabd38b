/**
 * Subscribers that store events as organisations' activity and fire alerts. They run in the event's
 * transaction. Events of a session belong to the session's active organisation.
 */
import type { Transaction } from 'kysely'
import type { CallerSession } from '../../api/port.ts'
import type { OrgEvent } from '../../api/rest/org.ts'
import type { VerificationEntry } from '../../api/rest/verify.ts'
import { activeOrganisation } from '../accounts/active-organisation.ts'
import type { Schema } from '../db/schema.ts'
import type { EventOf, DomainEventType, Subscriber } from '../events.ts'
import { type Activity, writeActivities } from './activity-rows.ts'
import { fireAlerts, holdDue, timesOf } from './alert-firing.ts'
import type { Post } from './alert-letters.ts'

/**
 * Stores an organisation's activities and fires the alerts for their events. Call this at the very
 * end of a transaction, because a transaction that has locked these rows must not wait for another
 * lock. A transaction that concerns several organisations must call it in the order of their ids.
 * @param now Unix milliseconds
 * @param post the services that send letters about alerts
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
  // Alerts are locked before activities are stored, in the same order as when an alert is changed.
  const due = await holdDue(trx, organisation, times)
  await writeActivities(trx, organisation, activities, now)
  await fireAlerts(trx, organisation, { due, times, now }, post)
}

/**
 * Returns when a session chose its active organisation, in Unix milliseconds; null if it did not
 * choose one, as for a machine account.
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
 * Stores a session's activities in its active organisation, if it has one. Activities from before
 * the session chose that organisation are skipped.
 * @param now Unix milliseconds
 */
async function noteOwn(
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

/** The activity for each outcome of a check; null for a check that proves nothing. */
const OUTCOMES = {
  verified: 'verification',
  not_verified: 'verification_failed',
  inconclusive: null,
  echo: null,
} as const satisfies Record<VerificationEntry['outcome'], OrgEvent | null>

/**
 * Returns the verification log entries with these ids as activities. They may be days old, because
 * the device may have been offline.
 * @param now Unix milliseconds
 */
function checksOf(items: readonly VerificationEntry[], ids: readonly string[], now: number) {
  const left = new Set(ids)
  return items.flatMap(({ id: target, outcome, method, at: checked }) => {
    const event = OUTCOMES[outcome]
    // Limited to the present, because the device's clock may be ahead.
    const at = Math.min(Date.parse(checked), now)
    // If two entries have the same id, only the first was stored.
    const isNew = left.delete(target)
    return isNew && event !== null && at >= 0 ? [{ event, target, data: { method }, at }] : []
  })
}

/** The events of a session that become activities of its active organisation. */
type OwnEvent = Extract<
  DomainEventType,
  'connection.created' | 'stamp.created' | 'token.created' | 'token.revoked' | 'verification.logged'
>

/** Converts each of these events to activities. */
const OWN: { [T in OwnEvent]: (event: EventOf<T>) => readonly Omit<Activity, 'actor'>[] } = {
  'connection.created': ({ connection }) => [{ event: 'connection_created', target: connection }],
  'stamp.created': ({ stamp }) => [{ event: 'stamp', target: stamp }],
  'token.created': ({ token }) => [{ event: 'token_created', target: token }],
  'token.revoked': ({ token }) => [{ event: 'token_revoked', target: token }],
  'verification.logged': ({ entries, accepted, at }) => checksOf(entries, accepted, at),
}

/** Returns the subscriber that stores a session's event in its active organisation. */
export const ownActivity =
  <T extends OwnEvent>(post: Post, type: T): Subscriber<T> =>
  ({ trx }, event) =>
    noteOwn(trx, event.by, OWN[type](event), event.at, post)

/** The events of an organisation. */
type InsideEvent = Extract<DomainEventType, `organisation.${string}` | 'machine.created'>

/** Converts an event that already names its activity. */
const asGiven = ({
  organisation,
  change: event,
  actor,
  target,
  data,
}: EventOf<'organisation.alert' | 'organisation.group'>): readonly [
  string,
  readonly Activity[],
] => [organisation, [{ event, actor, target, data }]]

/** Converts each of these events to its organisation and activities. */
const INSIDE: {
  [T in InsideEvent]: (event: EventOf<T>) => readonly [organisation: string, readonly Activity[]]
} = {
  'machine.created': ({ organisation, machine: target, actor }) => [
    organisation,
    [{ event: 'machine_created', actor, target }],
  ],
  'organisation.alert': asGiven,
  'organisation.group': asGiven,
  'organisation.invited': ({ organisation, actor, invites }) => [
    organisation.id,
    invites.map(({ id: target, role }) => {
      return { event: 'member_invited', actor, target, data: { role } }
    }),
  ],
  'organisation.joined': ({ organisation, change: event, account, role }) => [
    organisation,
    [{ event, actor: account, target: account, data: { role } }],
  ],
  'organisation.left': ({ organisation, member }) => [
    organisation,
    [{ event: 'member_left', actor: null, target: member }],
  ],
  'organisation.member_changed': ({ organisation, change: event, actor, target, role }) => [
    organisation.id,
    [{ event, actor, target, data: event === 'member_role_changed' ? { role } : {} }],
  ],
  'organisation.roles_widened': ({ organisation, actor, wider }) => [
    organisation.id,
    wider.map(({ id: target, role }) => {
      return { event: 'member_role_changed', actor, target, data: { role } }
    }),
  ],
}

/** Returns the subscriber that stores an organisation's event. */
export const activity =
  <T extends InsideEvent>(post: Post, type: T): Subscriber<T> =>
  ({ trx }, event) =>
    noteActivities(trx, ...INSIDE[type](event), event.at, post)
