/**
 * Subscribers that store events as activity of organisations and fire alerts, in the transaction
 * of the event. Events of a session belong to the organisation that is active for the session.
 */
import type { Transaction } from 'kysely'
import type { CallerSession } from '../../api/port.ts'
import type { OrgEvent } from '../../api/rest/org.ts'
import type { VerificationEntry } from '../../api/rest/verify.ts'
import { activeOrganisation } from '../accounts/active-organisation.ts'
import type { Schema } from '../db/schema.ts'
import type { EventOf, EventType, Subscriber } from '../events.ts'
import { type Activity, writeActivities } from './activity-rows.ts'
import { fireAlerts, holdDue, timesOf } from './alert-firing.ts'
import type { Post } from './alert-letters.ts'

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

/** The activity of each outcome; null for a check that proves nothing. */
const OUTCOMES = {
  verified: 'verification',
  not_verified: 'verification_failed',
  inconclusive: null,
  echo: null,
} as const satisfies Record<VerificationEntry['outcome'], OrgEvent | null>

/**
 * Returns the entries with these ids as activities. Their device may have been offline for days.
 * @param now Unix milliseconds
 */
function checksOf(items: readonly VerificationEntry[], ids: readonly string[], now: number) {
  const left = new Set(ids)
  return items.flatMap(({ id: target, outcome, method, at: checked }) => {
    const event = OUTCOMES[outcome]
    // With a clock that is ahead, the time would be later than that of the next activity.
    const at = Math.min(Date.parse(checked), now)
    // Of two entries with one id, the first is stored.
    const isNew = left.delete(target)
    return isNew && event !== null && at >= 0 ? [{ event, target, data: { method }, at }] : []
  })
}

/** The events of a session that an organisation lists. */
type OwnEvent = Extract<
  EventType,
  'connection.created' | 'stamp.created' | 'token.created' | 'token.revoked' | 'verification.logged'
>

/** The activities of each event of a session. */
const OWN: { [T in OwnEvent]: (event: EventOf<T>) => readonly Omit<Activity, 'actor'>[] } = {
  'connection.created': ({ connection }) => [{ event: 'connection_created', target: connection }],
  'stamp.created': ({ stamp }) => [{ event: 'stamp', target: stamp }],
  'token.created': ({ token }) => [{ event: 'token_created', target: token }],
  'token.revoked': ({ token }) => [{ event: 'token_revoked', target: token }],
  'verification.logged': ({ entries, accepted, at }) => checksOf(entries, accepted, at),
}

/** Stores what a session did, in its active organisation. */
export const ownActivity =
  <T extends OwnEvent>(post: Post, type: T): Subscriber<T> =>
  ({ trx }, event) =>
    noteOwn(trx, event.by, OWN[type](event), event.at, post)

/** The events inside of an organisation. */
type InsideEvent = Extract<EventType, `organisation.${string}` | 'machine.created'>

/** Returns an event that says its activity itself. */
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

/** The organisation and the activities of each event inside of one. */
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

/** Stores what happened inside of an organisation. */
export const activity =
  <T extends InsideEvent>(post: Post, type: T): Subscriber<T> =>
  ({ trx }, event) =>
    noteActivities(trx, ...INSIDE[type](event), event.at, post)
