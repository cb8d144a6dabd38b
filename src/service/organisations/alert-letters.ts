/** The mails about alerts that have fired. */
import type { AlertEvent } from '../../api/rest/org.ts'
import type { ServiceContext } from '../context.ts'
import { type Allowance, takePlace } from '../accounts/mail-allowance.ts'
import { type OutgoingLetter, sendAll } from '../mail/mailer.ts'
import { orgAlertMessage } from '../mail/messages-from-others.ts'
import { phraseOf } from './event-phrases.ts'
import type { Schema } from '../db/schema.ts'

/** The services that send the mails of alerts. */
export type Post = Pick<ServiceContext, 'background' | 'db' | 'mail' | 'publicUrl'>

/**
 * Mails to one mailbox. A manager of an organisation chooses the recipients of its alerts, and
 * the limit protects them from too many mails.
 */
const LETTERS: Allowance = { what: 'org alert', most: 10, periodMs: 3_600_000 }

export type Rule = Pick<
  Schema['organisation_alerts'],
  'id' | 'name' | 'event' | 'threshold' | 'window_minutes' | 'last_fired_at'
>

/** An alert that has fired, and the accounts to notify. */
export interface Fired {
  readonly rule: Rule
  /** When it fired, Unix milliseconds. */
  readonly at: number
  readonly organisation: { readonly id: string; readonly name: string }
  readonly accounts: readonly string[]
}

/**
 * Mails the accounts that have a mailbox and accept mail. It may start before the transaction in
 * which the alert fired commits. It sends nothing if that transaction was rolled back.
 * @param now Unix milliseconds
 */
export async function mailFired(
  { db, mail, publicUrl }: Post,
  { rule, at, organisation, accounts }: Fired,
  now: number,
): Promise<void> {
  const letters = await db.transaction().execute(async (trx): Promise<OutgoingLetter[]> => {
    // Changes nothing. It waits for the transaction that fired the alert.
    await trx
      .updateTable('organisation_alerts')
      .set((of) => ({ name: of.ref('name') }))
      .where('id', '=', rule.id)
      .execute()
    const kept = await trx
      .selectFrom('organisation_activities')
      .select('id')
      .where('organisation_id', '=', organisation.id)
      .where('event', '=', 'alert_fired')
      .where('at', '=', at)
      .where('target', '=', rule.id)
      .executeTakeFirst()
    if (kept === undefined) return []
    const mailboxes = await trx
      .selectFrom('emails')
      .leftJoin('preferences', 'preferences.account_id', 'emails.account_id')
      .select('address')
      .where('emails.account_id', 'in', accounts)
      .where('is_primary', '=', 1)
      .where((of) =>
        of.or([of('email_notifications', 'is', null), of('email_notifications', '=', 1)]),
      )
      .orderBy('address')
      .execute()
    const open: string[] = []
    for (const { address } of mailboxes)
      if (await takePlace(trx, LETTERS, address, now)) open.push(address)
    return open.map((to) =>
      orgAlertMessage({
        to,
        organisation: organisation.name,
        alert: rule.name,
        happened: phraseOf(rule.event as AlertEvent),
        threshold: rule.threshold,
        minutes: rule.window_minutes,
        publicUrl: publicUrl(),
      }),
    )
  })
  await sendAll(mail, letters)
}
