/** The letters about alerts that have fired. */
import type { AlertEvent } from '../../api/rest/org.ts'
import { ENGLISH } from '../../languages/languages.ts'
import { type Allowance, takePlace } from '../accounts/mail-allowance.ts'
import { readerWith } from '../accounts/readers.ts'
import type { ServiceContext } from '../context.ts'
import type { Schema } from '../db/schema.ts'
import { type OutgoingLetter, sendAll } from '../mail/mailer.ts'
import { orgAlertMessage } from '../mail/messages-from-others.ts'

/** Returns the English phrase for the event of an alert. */
export const phraseOf = (event: AlertEvent): string => ENGLISH.messages.alertEvents[event]

/** The services that are needed to send letters about alerts. */
export type Post = Pick<ServiceContext, 'background' | 'db' | 'mail' | 'publicUrl'>

/**
 * The limit for letters to one mailbox. It protects recipients, who are chosen by an owner or admin
 * of the organisation, from too many letters.
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
 * Mails the accounts that have a mailbox and accept mail. May be called before the transaction in
 * which the alert fired is committed. If that transaction is rolled back, nothing is sent.
 * @param now Unix milliseconds
 */
export async function mailFired(
  { db, mail, publicUrl }: Post,
  { rule, at, organisation, accounts }: Fired,
  now: number,
): Promise<void> {
  const letters = await db.transaction().execute(async (trx): Promise<OutgoingLetter[]> => {
    // This update changes nothing. It waits for the transaction that fired the alert.
    await trx
      .updateTable('organisation_alerts')
      .set((of) => ({ name: of.ref('name') }))
      .where('id', '=', rule.id)
      .execute()
    const fired = await trx
      .selectFrom('organisation_activities')
      .select('id')
      .where('organisation_id', '=', organisation.id)
      .where('event', '=', 'alert_fired')
      .where('at', '=', at)
      .where('target', '=', rule.id)
      .executeTakeFirst()
    if (fired === undefined) return []
    const mailboxes = await trx
      .selectFrom('emails')
      .leftJoin('preferences', 'preferences.account_id', 'emails.account_id')
      .select(['address', 'locale', 'time_zone'])
      .where('emails.account_id', 'in', accounts)
      .where('is_primary', '=', 1)
      .where((of) =>
        of.or([of('email_notifications', 'is', null), of('email_notifications', '=', 1)]),
      )
      .orderBy('address')
      .execute()
    const open: typeof mailboxes = []
    for (const mailbox of mailboxes)
      if (await takePlace(trx, LETTERS, mailbox.address, now)) open.push(mailbox)
    return open.map(({ address: to, ...chosen }) =>
      orgAlertMessage({
        to,
        reader: readerWith(chosen),
        organisation: organisation.name,
        alert: rule.name,
        event: rule.event as AlertEvent,
        threshold: rule.threshold,
        minutes: rule.window_minutes,
        publicUrl: publicUrl(),
      }),
    )
  })
  await sendAll(mail, letters)
}
