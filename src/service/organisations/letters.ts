/** The letters to mailboxes that an organisation invited. */
import { displayName, primaryAddress } from '../accounts/account-record.ts'
import type { Allowance } from '../accounts/mail-allowance.ts'
import { takeInvitationMails } from '../connections/invitation-allowance.ts'
import type { Subscriber } from '../events.ts'
import { orgInvitationMessage } from '../mail/messages-from-others.ts'

/** Mails to one mailbox, from all accounts: the owner of the mailbox may be a stranger. */
const MAILS: Allowance = { what: 'org invitation', most: 3, periodMs: 3_600_000 }

export const lettersOfInvites =
  ({ publicUrl }: { publicUrl: () => string }): Subscriber<'organisation.invited'> =>
  async ({ trx, send }, { organisation, actor: account, invites, at }) => {
    const from = await displayName(trx, account)
    const fromEmail = await primaryAddress(trx, account)
    const wanted = invites.filter(({ wantsMail }) => wantsMail).map(({ email }) => email)
    const mailed = await takeInvitationMails(trx, { account, toMailbox: MAILS }, wanted, at)
    const said = { from, fromEmail, organisation: organisation.name, publicUrl: publicUrl() }
    for (const to of mailed) send(orgInvitationMessage({ ...said, to }))
  }
