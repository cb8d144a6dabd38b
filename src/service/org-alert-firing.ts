/**
 * Alerts that fire. A rule says how many activities of an event, in how many minutes, somebody wants to hear of. It is judged as they
 * are written, in the same transaction; after it has fired it says nothing for as many minutes.
 */
import type { Transaction } from 'kysely'
import type { OrgEvent } from '../api/rest/org.ts'
import { quoted } from './mail/quoting.ts'
import { type Note, notifyAll } from './notices.ts'
import { DAY_MS, MINUTE_MS, dayOf, minuteOf, writeActivities } from './org-activity-rows.ts'
import { type Fired, type Post, type Rule, mailFired } from './org-alert-letters.ts'
import type { Schema } from './schema.ts'

export type { Post }

type Timing = Pick<Rule, 'window_minutes' | 'last_fired_at'>

/** The time that counts begins after this; Unix milliseconds. */
const sinceOf = ({ window_minutes }: Pick<Rule, 'window_minutes'>, at: number) =>
  at - window_minutes * MINUTE_MS

/** Whether an alert has not fired for as long as its window. One that fired far ahead did so by a clock that was wrong. */
function isDue({ window_minutes, last_fired_at }: Timing, at: number): boolean {
  return last_fired_at === null || Math.abs(at - last_fired_at) >= window_minutes * MINUTE_MS
}

/**
 * The enabled alerts that wait for one of these events and have not fired for as long as their window. Others do not change them until
 * the transaction ends.
 * @param at Unix milliseconds
 */
export async function holdDue(
  trx: Transaction<Schema>,
  organisation: string,
  events: readonly OrgEvent[],
  at: number,
): Promise<Rule[]> {
  const waiting = await trx
    .selectFrom('organisation_alerts')
    .select(['id', 'window_minutes', 'last_fired_at'])
    .where('organisation_id', '=', organisation)
    .where('event', 'in', events)
    .where('enabled', '=', 1)
    .orderBy('id')
    .execute()
  const due: Rule[] = []
  for (const { id } of waiting.filter((one) => isDue(one, at))) {
    // One by one, so that no two transactions wait for each other. Changes nothing.
    const rule = await trx
      .updateTable('organisation_alerts')
      .set((of) => ({ name: of.ref('name') }))
      .where('id', '=', id)
      .where('enabled', '=', 1)
      .where('event', 'in', events)
      .returning(['id', 'name', 'event', 'threshold', 'window_minutes', 'last_fired_at'])
      .executeTakeFirst()
    if (rule !== undefined && isDue(rule, at)) due.push(rule)
  }
  return due
}

type Days = readonly Pick<Schema['organisation_event_days'], 'day' | 'event' | 'count'>[]

/**
 * How many activities there were on the days on which the windows of these alerts begin, and on all until today. Until a minute later: of
 * two that write at the same moment, the one that was first may have looked at the clock last.
 */
const countsOf = (
  trx: Transaction<Schema>,
  organisation: string,
  rules: readonly Rule[],
  at: number,
): Promise<Days> =>
  trx
    .selectFrom('organisation_event_days')
    .select(['day', 'event', 'count'])
    .where('organisation_id', '=', organisation)
    .where('day', '>=', Math.min(...rules.map((rule) => dayOf(sinceOf(rule, at)))))
    .where('day', '<=', dayOf(at + MINUTE_MS))
    .where('event', 'in', [...new Set(rules.map(({ event }) => event))])
    .execute()

/** How many activities of an event there were in a minute, and in the rest of its day until now. */
async function countsAfter(
  trx: Transaction<Schema>,
  organisation: string,
  of: { event: string; minute: number; at: number },
): Promise<{ first: number; rest: number }> {
  const { event, minute, at } = of
  const endOfDay = (dayOf(minute * MINUTE_MS) + 1) * (DAY_MS / MINUTE_MS)
  const { first, rest } = await trx
    .selectFrom('organisation_event_minutes')
    .select(({ fn }) => [
      fn.sum('count').filterWhere('minute', '=', minute).as('first'),
      fn.sum('count').filterWhere('minute', '>', minute).as('rest'),
    ])
    .where('organisation_id', '=', organisation)
    .where('event', '=', event)
    .where('minute', '>=', minute)
    .where('minute', '<', endOfDay)
    .where('minute', '<=', minuteOf(at + MINUTE_MS))
    .executeTakeFirstOrThrow()
  return { first: Number(first), rest: Number(rest) }
}

/**
 * Whether as many happened in the window of an alert as it waits for. The days and minutes that the window has whole are counted already;
 * of the minute in which it begins no more activities are looked at than it takes.
 */
async function isReached(
  trx: Transaction<Schema>,
  organisation: string,
  of: { rule: Rule; days: Days; at: number },
): Promise<boolean> {
  const { rule, days, at } = of
  const since = sinceOf(rule, at)
  const first = dayOf(since)
  const countIn = (isIn: (day: number) => boolean) =>
    days.reduce((sum, { day, event, count }) => {
      return event === rule.event && isIn(day) ? sum + Number(count) : sum
    }, 0)
  const missingOnFirst = rule.threshold - countIn((day) => day > first)
  if (missingOnFirst <= 0) return true
  if (countIn((day) => day === first) < missingOnFirst) return false
  const minute = minuteOf(since)
  const counts = await countsAfter(trx, organisation, { event: rule.event, minute, at })
  const missing = missingOnFirst - counts.rest
  if (missing <= 0) return true
  if (counts.first < missing) return false
  const last = await trx
    .selectFrom('organisation_activities')
    .select('at')
    .where('organisation_id', '=', organisation)
    .where('event', '=', rule.event)
    .where('at', '>', since)
    .where('at', '<', (minute + 1) * MINUTE_MS)
    .orderBy('at')
    .offset(missing - 1)
    .limit(1)
    .executeTakeFirst()
  return last !== undefined
}

/** Note that an alert fires now; false when it does not any more. */
async function fire(
  trx: Transaction<Schema>,
  { id, last_fired_at: before }: Rule,
  at: number,
): Promise<boolean> {
  const { numUpdatedRows: fired } = await trx
    .updateTable('organisation_alerts')
    .set({ last_fired_at: at })
    .where('id', '=', id)
    .where('enabled', '=', 1)
    .where('last_fired_at', before === null ? 'is' : '=', before)
    .executeTakeFirst()
  return fired === 1n
}

/** Those of an organisation's alerts with whom each tells: its members that are active now. */
async function withAccounts(
  trx: Transaction<Schema>,
  id: string,
  rules: readonly Rule[],
): Promise<Fired[]> {
  const { name } = await trx
    .selectFrom('organisations')
    .select('name')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const told = await trx
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
      rules.map((rule) => rule.id),
    )
    .where('state', '=', 'active')
    .orderBy('alert_id')
    .orderBy('account')
    // Whoever deletes their account at this moment holds the row and is not told. Nobody waits for them: they may wait for whoever does.
    .forNoKeyUpdate('organisation_alert_notify')
    .skipLocked()
    .execute()
  return rules.map((rule) => ({
    rule,
    organisation: { id, name },
    accounts: told.filter((one) => one.alert_id === rule.id).map(({ account }) => account),
  }))
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`

function noteOf({ rule, organisation }: Fired): Note {
  const [alert, where] = [quoted(rule.name), quoted(organisation.name)]
  const window = counted(rule.window_minutes, 'minute')
  return {
    kind: 'org_alert',
    title: `The alert ${alert} of ${where} fired`,
    body: `In the organisation ${where}, ${rule.event} happened ${counted(rule.threshold, 'time')} or more within ${window}. The alert ${alert} says nothing further for ${window}.`,
    data: { organisation_id: organisation.id, alert_id: rule.id },
  }
}

/**
 * Fire those of the alerts of an organisation for which enough has happened, in the transaction that wrote it. Whoever writes the same
 * event at the same moment waits for the counts of it, which are written first: so each sees what came before.
 * @param due as `holdDue` gave them
 * @param at Unix milliseconds
 */
export async function fireAlerts(
  trx: Transaction<Schema>,
  organisation: string,
  due: readonly Rule[],
  at: number,
  post: Post,
): Promise<void> {
  if (due.length === 0) return
  const days = await countsOf(trx, organisation, due, at)
  const rules: Rule[] = []
  for (const rule of due)
    if ((await isReached(trx, organisation, { rule, days, at })) && (await fire(trx, rule, at)))
      rules.push(rule)
  if (rules.length === 0) return
  const fired = await withAccounts(trx, organisation, rules)
  const notes = fired.flatMap((one) =>
    one.accounts.map((account): [string, Note] => [account, noteOf(one)]),
  )
  await notifyAll(trx, notes, at)
  // Last of all, as in every transaction that fires one.
  await writeActivities(
    trx,
    organisation,
    rules.map(({ id, name, event }) => ({
      event: 'alert_fired',
      actor: null,
      target: id,
      data: { name, event },
    })),
    at,
  )
  for (const one of fired)
    if (one.accounts.length > 0) post.background.run(() => mailFired(post, one, at))
}
