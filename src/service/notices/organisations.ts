import type { OrgRole } from '../../api/rest/org.ts'
import { displayName, primaryAddress } from '../accounts/account-record.ts'
import type { Allowance } from '../accounts/mail-allowance.ts'
import { readerAt, readerOf } from '../accounts/readers.ts'
import { takeInvitationMails } from '../connections/invitation-letters.ts'
import type { EventOf, Subscriber } from '../events.ts'
import { orgInvitationMessage } from '../mail/messages-from-others.ts'
import { type Note, notify, notifyAll } from '../mail/notices.ts'
import { quoted } from '../mail/quoting.ts'

type Organisation = EventOf<'organisation.invited'>['organisation']

/** Returns the note to an account about an invitation to one of its mailboxes. */
const invitedNote = (from: string, { id, name }: Organisation): Note => ({
  kind: 'org_invited',
  title: `${quoted(from)} invites you to an organisation`,
  body:
    `A person who uses the name ${quoted(from)} invites you to the organisation ${quoted(name)}. ` +
    'You become a member when a device of yours next renews its session. Its members then see your name and this address. If you do not want that, suspend yourself there ("countersignd org suspend").',
  data: { organisation_id: id },
})

/** Returns the note about a suspension. */
const suspendedNote = ({ id, name }: Organisation): Note => ({
  kind: 'org_suspended',
  title: `You are suspended in ${quoted(name)}`,
  body: `An owner or admin of the organisation ${quoted(name)} suspended you there. You cannot act in the organisation until an owner or admin activates you. Your own account has not changed.`,
  data: { organisation_id: id },
})

/** Returns the note to an account that an owner or admin made an active member. */
const activatedNote = ({ id, name }: Organisation): Note => ({
  kind: 'org_activated',
  title: `You are a member of ${quoted(name)}`,
  body: `An owner or admin of the organisation ${quoted(name)} made you an active member of it. Its members see your name and the address that was invited.`,
  data: { organisation_id: id },
})

/** Returns the note about a wider role. */
const roleNote = ({ id, name }: Organisation, role: OrgRole): Note => ({
  kind: 'org_role_changed',
  title: `Your role in ${quoted(name)} is now ${role}`,
  body: `An owner or admin of the organisation ${quoted(name)} gave you the role ${role}.`,
  data: { organisation_id: id },
})

/** Notifies the accounts that have an invited mailbox. */
export const noticesOfInvites: Subscriber<'organisation.invited'> = async (
  { trx },
  { organisation, actor, invites, at },
) => {
  const note = invitedNote(await displayName(trx, actor), organisation)
  const accounts = invites.flatMap(({ account }) => account ?? [])
  await notifyAll(trx, new Map(accounts.map((one) => [one, note])), at)
}

/** Notifies members who got a wider role. */
export const noticesOfRoles: Subscriber<'organisation.roles_widened'> = (
  { trx },
  { organisation, wider, at },
) => {
  const members = wider.filter(({ isMember }) => isMember)
  const notes = members.map(({ id, role }) => [id, roleNote(organisation, role)] as const)
  return notifyAll(trx, notes, at)
}

const NOTES = {
  member_joined: activatedNote,
  member_activated: activatedNote,
  member_suspended: suspendedNote,
  member_role_changed: roleNote,
} as const satisfies Record<
  EventOf<'organisation.member_changed'>['change'],
  (of: Organisation, role: OrgRole) => Note
>

/** Notifies a member of a change by another member. */
export const noticeOfMember: Subscriber<'organisation.member_changed'> = async (
  { trx },
  { organisation, change, target, role, isNotified, at },
) => {
  if (isNotified) await notify(trx, target, NOTES[change](organisation, role), at)
}

/**
 * The limit for letters to one mailbox from all accounts. The owner of the mailbox may be a
 * stranger.
 */
const MAILS: Allowance = { what: 'org invitation', most: 3, periodMs: 3_600_000 }

export const lettersOfInvites =
  ({ publicUrl }: { publicUrl: () => string }): Subscriber<'organisation.invited'> =>
  async ({ trx, send }, { organisation, actor: account, invites, at }) => {
    const from = await displayName(trx, account)
    const fromEmail = await primaryAddress(trx, account)
    const wanted = invites.filter(({ wantsMail }) => wantsMail).map(({ email }) => email)
    const mailed = await takeInvitationMails(trx, { account, toMailbox: MAILS }, wanted, at)
    const contents = { from, fromEmail, organisation: organisation.name, publicUrl: publicUrl() }
    const inviter = await readerOf(trx, account)
    for (const to of mailed)
      send(orgInvitationMessage({ ...contents, to, reader: await readerAt(trx, to, inviter) }))
  }
