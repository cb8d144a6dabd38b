/** The mails about invitations: whether one goes out, and where. */
import type { Transaction } from 'kysely'
import { roleIn } from './connection-rows.ts'
import { accountAt, displayName, primaryAddress } from '../accounts/account-record.ts'
import type { Ground } from '../context.ts'
import { takeInvitationMails } from './invitation-allowance.ts'
import type { Allowance } from '../accounts/mail-allowance.ts'
import type { Mail, Message } from '../mail/mailer.ts'
import { invitationMessage } from '../mail/messages-from-others.ts'
import type { Schema } from '../db/schema.ts'
import type { Inviter, Target } from './invitation-rows.ts'

/** To one mailbox, from all accounts; its owner finds further invitations on signing in. */
const MAILS: Allowance = { what: 'invitation', most: 10, periodMs: 3_600_000 }

/** Where a mail about it goes; null where none should. */
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

/** The mail about an invitation that is kept; null where none should go out. */
export async function letterFor(
  { publicUrl }: Pick<Ground, 'publicUrl'>,
  trx: Transaction<Schema>,
  of: { by: Inviter; target: Target; at: number },
): Promise<Message | null> {
  const { by, target, at } = of
  const address = await addressFor(trx, by, target)
  if (address === null) return null
  const inviter = { account: by.account, toMailbox: MAILS }
  const [to] = await takeInvitationMails(trx, inviter, [address], at)
  if (to === undefined) return null
  const from = await displayName(trx, by.account)
  const fromEmail = await primaryAddress(trx, by.account)
  return invitationMessage({
    to,
    from,
    fromEmail,
    connection: by.name,
    message: by.message,
    goodForMs: by.goodForMs,
    publicUrl: publicUrl(),
  })
}

/** Send mails, one after the other; what goes wrong with one keeps no other back. Throws the first of what went wrong. */
export async function sendAll(mail: Mail, letters: readonly Message[]): Promise<void> {
  const failed: unknown[] = []
  for (const letter of letters)
    await mail.send(letter).catch((error: unknown) => void failed.push(error))
  if (failed.length > 0) throw failed[0]
}
