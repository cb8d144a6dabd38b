/**
 * Inviting mailboxes to an organisation, many at once: each is judged alone, and what is kept is kept in one transaction. A mailbox that
 * is an account's reads like one that is nobody's, unless that account is in the organisation already.
 */
import type { Transaction } from 'kysely'
import type { Service } from '../../api/port.ts'
import { MOST_INVITES, type OrgMember } from '../../api/rest/org.ts'
import { isId, newId } from '../../crypto/encoding/id.ts'
import type { ActiveOrganisation } from '../accounts/active-organisation.ts'
import { displayName, primaryAddress } from '../accounts/account-record.ts'
import type { Ground } from '../context.ts'
import { sendAll } from '../connections/invitation-letters.ts'
import { takeInvitationMails } from '../connections/invitation-allowance.ts'
import type { Allowance } from '../accounts/mail-allowance.ts'
import type { Message } from '../mail/mailer.ts'
import { orgInvitationMessage } from '../mail/messages-from-others.ts'
import { type Note, notifyAll } from '../mail/notices.ts'
import { noteActivities } from './activities.ts'
import { managing } from './managing.ts'
import {
  type Invite,
  type Meant,
  PREFIX,
  type Role,
  invites as rows,
  members,
  resourcesOf,
} from './member-rows.ts'
import { invitedNote, roleNote } from './notices.ts'
import { changeInvite, widenMember } from './roles.ts'
import { type Accounts, accountsAt, addressOf, judge, waitingAt } from './invite-verdicts.ts'
import { demandRoom } from './organisations.ts'
import type { Schema } from '../db/schema.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

const HOUR_MS = 3_600_000

const INVITED: Brake = {
  what: 'org invite',
  most: 20 * MOST_INVITES,
  periodMs: HOUR_MS,
  told: `Too many people were invited: ${20 * MOST_INVITES} an hour is the most. Nobody of this request was.`,
}

/** Whoever has them sent: the mailbox may be a stranger's. */
const MAILS: Allowance = { what: 'org invitation', most: 3, periodMs: HOUR_MS }

type Answer = Awaited<ReturnType<Service['orgMembers']['bulkInvite']>>

/** Keep invitations that may be kept, and tell of them. Answers the mails to send, as far as each mailbox may get any. */
async function keep(
  trx: Transaction<Schema>,
  ground: Ground,
  of: {
    by: { account: string; organisation: ActiveOrganisation }
    made: readonly Invite[]
    accounts: Accounts
    at: number
  },
): Promise<Message[]> {
  const { by, made, accounts, at } = of
  const { account, organisation } = by
  await demandRoom(trx, organisation.id, made.length)
  await countTryIn(trx, account, INVITED, at, '', made.length)
  await trx.insertInto('organisation_invites').values(made).execute()
  const from = await displayName(trx, account)
  const fromEmail = await primaryAddress(trx, account)
  const wanted = made
    .map(({ email }) => email)
    .filter((email) => accounts.get(email)?.email_notifications !== 0)
  const mailed = await takeInvitationMails(trx, { account, toMailbox: MAILS }, wanted, at)
  const told = made.flatMap(({ email }) => accounts.get(email)?.account ?? [])
  const note = invitedNote(from, organisation)
  await notifyAll(trx, new Map(told.map((one) => [one, note])), at)
  const activities = made.map(({ id: target, role }) => {
    return { event: 'member_invited', actor: account, target, data: { role } } as const
  })
  await noteActivities(trx, organisation.id, activities, at, ground)
  const said = { from, fromEmail, organisation: organisation.name, publicUrl: ground.publicUrl() }
  return mailed.map((to) => orgInvitationMessage({ ...said, to }))
}

/** Give members and invitations wider roles, and tell those members. */
async function widen(
  trx: Transaction<Schema>,
  ground: Ground,
  of: {
    by: { account: string; organisation: ActiveOrganisation }
    wider: readonly { id: string; role: Role }[]
    at: number
  },
): Promise<void> {
  const { by, wider, at } = of
  const { account: actor, organisation } = by
  await countTryIn(trx, actor, INVITED, at, '', wider.length)
  const notes: [account: string, note: Note][] = []
  for (const { id, role } of wider)
    if (isId(PREFIX, id)) await changeInvite(trx, { id, role })
    else {
      await widenMember(trx, { organisation: organisation.id, account: id, role })
      notes.push([id, roleNote(organisation, role)])
    }
  await notifyAll(trx, notes, at)
  const activities = wider.map(({ id: target, role }) => {
    return { event: 'member_role_changed', actor, target, data: { role } } as const
  })
  await noteActivities(trx, organisation.id, activities, at, ground)
}

/** Members and invitations by their ids, in order. */
async function resourcesBy(
  trx: Transaction<Schema>,
  organisation: string,
  ids: readonly string[],
): Promise<OrgMember[]> {
  if (ids.length === 0) return []
  const invites = await rows(trx, organisation).where('id', 'in', ids).execute()
  const joined = await members(trx, organisation)
    .where('organisation_members.account_id', 'in', ids)
    .execute()
  const meant = new Map<string, Meant>([
    ...invites.map((invite) => [invite.id, { invite }] as const),
    ...joined.map((member) => [member.account_id, { member }] as const),
  ])
  return resourcesOf(
    trx,
    organisation,
    ids.map((id) => meant.get(id)!),
  )
}

/**
 * Invite mailboxes to the organisation that is active for the caller; the mails go out after the answer. Whoever is there or invited
 * already, with a role that is narrower, gets the wider one.
 */
export const bulkInvite =
  (ground: Ground): Service['orgMembers']['bulkInvite'] =>
  async ({ body: { invites: asked } }, session) => {
    const { db, now, background, mail } = ground
    return managing(db, session, async (trx, organisation) => {
      const addresses = [...new Set(asked.map(addressOf))]
      const accounts = await accountsAt(trx, organisation.id, addresses)
      const waiting = await waitingAt(trx, organisation.id, addresses)
      const at = now()
      const made: Invite[] = []
      const wider: { id: string; role: Role }[] = []
      const skipped: Answer['skipped'] = []
      const ids: string[] = []
      const verdicts = judge(asked, { by: organisation.role, accounts, waiting })
      for (const [i, one] of asked.entries()) {
        const verdict = verdicts[i]!
        if ('reason' in verdict) {
          skipped.push({ email: one.email, reason: verdict.reason })
          continue
        }
        const id = verdict.widens ?? newId(PREFIX, at)
        ids.push(id)
        if (verdict.widens !== null) wider.push({ id, role: one.role })
        else
          made.push({
            id,
            organisation_id: organisation.id,
            email: addressOf(one),
            role: one.role,
            state: 'invited',
            created_at: at,
          })
      }
      const by = { account: session.account, organisation }
      if (wider.length > 0) await widen(trx, ground, { by, wider, at })
      if (made.length > 0) {
        const letters = await keep(trx, ground, { by, made, accounts, at })
        background.run(() => sendAll(mail, letters))
      }
      return { invited: await resourcesBy(trx, organisation.id, ids), skipped }
    })
  }
