/** The mails about invitations: whether one is sent, and its address. */
import type { Transaction } from 'kysely'
import { roleIn } from './connection-rows.ts'
import { accountAt, displayName, primaryAddress } from '../accounts/account-record.ts'
import type { ServiceContext } from '../context.ts'
import { takeInvitationMails } from './invitation-allowance.ts'
import type { Allowance } from '../accounts/mail-allowance.ts'
import type { Subscriber } from '../events.ts'
import { invitationMessage } from '../mail/messages-from-others.ts'
import type { Schema } from '../db/schema.ts'
import type { Inviter, Target } from './invitation-rows.ts'

/** Mails to one mailbox, from all accounts; its owner finds further invitations on signing in. */
const MAILS: Allowance = { what: 'invitation', most: 10, periodMs: 3_600_000 }

/** Returns the address for the mail about an invitation; null if none should be sent. */
async function addressFor(
  trx: Transaction<Schema>,
  by: Inviter,
  { account, email }: Target,
): Promise<string | null> {
  const person = account ?? (await accountAt(trx, email!))
  const address = email ?? (await primaryAddress(trx, account!))
  if (address === null) return null
  if (person !== null) {
    const told = await trx
      .selectFrom('preferences')
      .select('email_notifications')
      .where('account_id', '=', person)
      .executeTakeFirst()
    if (told?.email_notifications === 0) return null
    if ((await roleIn(trx, by.connection, person)) !== null) return null
  }
  return address
}

/** Mails an invitation. */
export const letterOfInvitation =
  ({ publicUrl }: Pick<ServiceContext, 'publicUrl'>): Subscriber<'invitation.sent'> =>
  async ({ trx, send }, { by, target, at }) => {
    const address = await addressFor(trx, by, target)
    if (address === null) return
    const inviter = { account: by.account, toMailbox: MAILS }
    const [to] = await takeInvitationMails(trx, inviter, [address], at)
    if (to === undefined) return
    const from = await displayName(trx, by.account)
    const fromEmail = await primaryAddress(trx, by.account)
    send(
      invitationMessage({
        to,
        from,
        fromEmail,
        connection: by.name,
        message: by.message,
        goodForMs: by.goodForMs,
        publicUrl: publicUrl(),
      }),
    )
  }
