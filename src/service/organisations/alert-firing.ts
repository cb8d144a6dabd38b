/**
 * Fires alerts. An alert has an event, a threshold and a window in minutes. It fires if the event
 * has happened `threshold` times within the window. This is checked in the transaction that stores
 * the activities, for the times at which they happened. After an alert has fired, it does not fire
 * again for the length of its window.
 */
import type { Transaction } from 'kysely'
import type { AlertEvent, OrgEvent } from '../../api/rest/org.ts'
import { quoted } from '../mail/quoting.ts'
import { type Note, notifyAll } from '../mail/notices.ts'
import { type Activity, JUDGED_MS, MINUTE_MS, minuteOf, writeActivities } from './activity-rows.ts'
import { type Window, countsIn } from './alert-counts.ts'
import { type Fired, mailFired, phraseOf, type Post, type Rule } from './alert-letters.ts'
import type { Schema } from '../db/schema.ts'

/** The times for which alerts are checked, by event, in ascending order (Unix milliseconds). */
type Times = ReadonlyMap<OrgEvent, readonly number[]>

/**
 * Returns the times for which to check alerts: for each event and minute, when it last happened.
 * @param now Unix milliseconds
 */
export function timesOf(activities: readonly Activity[], now: number): Times {
  const recent = activities.filter(({ at = now }) => at > now - JUDGED_MS)
  const byEvent = Map.groupBy(recent, ({ event }) => event)
  return new Map(
    [...byEvent].map(([event, own]) => {
      const times = own.map(({ at = now }) => at).toSorted((a, b) => a - b)
      return [event, times.filter((at, i) => minuteOf(at) !== minuteOf(times[i + 1] ?? Infinity))]
    }),
  )
}

type Timing = Pick<Rule, 'event' | 'window_minutes' | 'last_fired_at'>

/**
 * Returns the times at which an alert may fire: it must not have fired for the length of its
 * window. A last firing far in the future is from a wrong clock and is ignored.
 */
const dueTimes = ({ event, window_minutes, last_fired_at }: Timing, times: Times) =>
  (times.get(event as OrgEvent) ?? []).filter(
    (at) => last_fired_at === null || Math.abs(at - last_fired_at) >= window_minutes * MINUTE_MS,
  )

/**
 * Returns and locks the enabled alerts that may fire at one of their event's times. The rows are
 * locked until the transaction ends.
 */
export async function holdDue(
  trx: Transaction<Schema>,
  organisation: string,
  times: Times,
): Promise<Rule[]> {
  const events = [...times.keys()]
  if (events.length === 0) return []
  const waiting = await trx
    .selectFrom('organisation_alerts')
    .select(['id', 'event', 'window_minutes', 'last_fired_at'])
    .where('organisation_id', '=', organisation)
    .where('event', 'in', events)
    .where('enabled', '=', 1)
    .orderBy('id')
    .execute()
  const due: Rule[] = []
  for (const { id } of waiting.filter((one) => dueTimes(one, times).length > 0)) {
    // This update changes nothing. It locks the rows one by one in the order of their ids, to avoid
    // deadlocks.
    const rule = await trx
      .updateTable('organisation_alerts')
      .set((of) => ({ name: of.ref('name') }))
      .where('id', '=', id)
      .where('enabled', '=', 1)
      .where('event', 'in', events)
      .returning(['id', 'name', 'event', 'threshold', 'window_minutes', 'last_fired_at'])
      .executeTakeFirst()
    if (rule !== undefined && dueTimes(rule, times).length > 0) due.push(rule)
  }
  return due
}

/**
 * Returns the window of an alert. It ends at `at`, or a minute later if `at` is now: a concurrent
 * transaction may already have stored an event with a slightly later time.
 */
const windowOf = ({ event, window_minutes }: Rule, at: number, now: number): Window => ({
  event,
  since: at - window_minutes * MINUTE_MS,
  until: at === now ? at + MINUTE_MS : at,
})

/**
 * Returns the alerts that reached their threshold, each with the first time at which this happened.
 */
async function reached(
  trx: Transaction<Schema>,
  organisation: string,
  of: { due: readonly Rule[]; times: Times; now: number },
): Promise<{ rule: Rule; at: number }[]> {
  const { due, times, now } = of
  const dueRules = due.map((rule) => ({
    rule,
    all: dueTimes(rule, times).map((at) => ({ at, window: windowOf(rule, at, now) })),
  }))
  const isReached = await countsIn(
    trx,
    organisation,
    dueRules.flatMap(({ all }) => all.map(({ window }) => window)),
  )
  const found = []
  for (const { rule, all } of dueRules)
    for (const { at, window } of all)
      if (await isReached(window, rule.threshold)) {
        found.push({ rule, at })
        break
      }
  return found
}

/**
 * Stores that an alert fires. Returns false if it is no longer enabled or has fired since it was
 * read.
 */
async function fire(
  trx: Transaction<Schema>,
  { id, last_fired_at: before }: Rule,
  { at, now }: { at: number; now: number },
): Promise<boolean> {
  // The later of the two times is kept, so that a late activity does not shorten the pause. But a
  // time in the future, which is from a wrong clock, is replaced.
  const last = before === null || before > now ? at : Math.max(before, at)
  const { numUpdatedRows: fired } = await trx
    .updateTable('organisation_alerts')
    .set({ last_fired_at: last })
    .where('id', '=', id)
    .where('enabled', '=', 1)
    .where('last_fired_at', before === null ? 'is' : '=', before)
    .executeTakeFirst()
  return fired === 1n
}

/** Returns the fired alerts, each with the active members to notify. */
async function withAccounts(
  trx: Transaction<Schema>,
  id: string,
  fired: readonly { rule: Rule; at: number }[],
): Promise<Fired[]> {
  const { name } = await trx
    .selectFrom('organisations')
    .select('name')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const recipients = await trx
    .selectFrom('organisation_alert_notify')
    .innerJoin('organisation_members', (join) =>
      join
        .onRef(
          'organisation_members.organisation_id',
          '=',
          'organisation_alert_notify.organisation_id',
        )
        .onRef('organisation_members.account_id', '=', 'organisation_alert_notify.account_id'),
    )
    .select(['alert_id', 'organisation_alert_notify.account_id as account'])
    .where(
      'alert_id',
      'in',
      fired.map(({ rule }) => rule.id),
    )
    .where('state', '=', 'active')
    .orderBy('alert_id')
    .orderBy('account')
    // Skips rows that are locked because an account is being deleted. Waiting for the lock could
    // deadlock, and that account needs no notification.
    .forNoKeyUpdate('organisation_alert_notify')
    .skipLocked()
    .execute()
  return fired.map(({ rule, at }) => ({
    rule,
    at,
    organisation: { id, name },
    accounts: recipients.filter((one) => one.alert_id === rule.id).map(({ account }) => account),
  }))
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`

function noteOf({ rule, organisation }: Fired): Note {
  const [alert, where] = [quoted(rule.name), quoted(organisation.name)]
  const window = counted(rule.window_minutes, 'minute')
  return {
    kind: 'org_alert',
    title: `The alert ${alert} of ${where} fired`,
    body: `In the organisation ${where}, ${phraseOf(rule.event as AlertEvent)} ${counted(rule.threshold, 'time')} or more within ${window}. The alert ${alert} sends nothing further for ${window}.`,
    data: { organisation_id: organisation.id, alert_id: rule.id },
  }
}

/**
 * Fires each of an organisation's alerts that reached its threshold. Must run in the transaction
 * that stored the activities. That transaction has locked the counts, so a concurrent transaction
 * with the same event waits for it, and then sees its activities.
 * @param of `due`: the result of `holdDue` for `times`; `now`: Unix milliseconds
 */
export async function fireAlerts(
  trx: Transaction<Schema>,
  organisation: string,
  of: { due: readonly Rule[]; times: Times; now: number },
  post: Post,
): Promise<void> {
  if (of.due.length === 0) return
  const fires = []
  for (const one of await reached(trx, organisation, of))
    if (await fire(trx, one.rule, { at: one.at, now: of.now })) fires.push(one)
  if (fires.length === 0) return
  const fired = await withAccounts(trx, organisation, fires)
  const notes = fired.flatMap((one) =>
    one.accounts.map((account): [string, Note] => [account, noteOf(one)]),
  )
  await notifyAll(trx, notes, of.now)
  // These activities are written last in every transaction that fires an alert.
  await writeActivities(
    trx,
    organisation,
    fires.map(({ rule: { id, name, event }, at }) => ({
      event: 'alert_fired',
      actor: null,
      target: id,
      data: { name, event },
      at,
    })),
    of.now,
  )
  for (const one of fired)
    if (one.accounts.length > 0) post.background.run(() => mailFired(post, one, of.now))
}
