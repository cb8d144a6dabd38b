/**
 * Inviting mailboxes to an organisation, many at once: each is judged alone, and what is kept is kept in one transaction. A mailbox that
 * is an account's reads like one that is nobody's, unless that account is in the organisation already.
 */
import type { Transaction } from 'kysely'
import { is } from 'valibot'
import { email as mailbox } from '../api/fields.ts'
import type { Service } from '../api/port.ts'
import { MOST_INVITES, type OrgMember } from '../api/rest/org.ts'
import { newId } from '../crypto/id.ts'
import type { ActiveOrganisation } from './active-organisation.ts'
import { displayName, primaryAddress } from './context.ts'
import type { Ground } from './ground.ts'
import { sendAll } from './invitation-letters.ts'
import { type Allowance, takePlaces } from './mail-allowance.ts'
import type { Message } from './mail/mail.ts'
import { orgInvitationMessage } from './mail/messages-from-others.ts'
import { quoted } from './mail/quoting.ts'
import { type Note, notifyAll } from './notices.ts'
import { noteActivities } from './org-activities.ts'
import { managing } from './org-managing.ts'
import { PREFIX, inviteResource, invites as rows } from './org-member-rows.ts'
import { demandRoom } from './organisations.ts'
import type { Schema } from './schema.ts'
import { type Brake, countTryIn } from './tries.ts'

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
type Reason = Answer['skipped'][number]['reason']
type Asked = Parameters<Service['orgMembers']['bulkInvite']>[0]['body']['invites'][number]
type Invite = Schema['organisation_invites']

/** The accounts that have proven some mailboxes, by mailbox, with what they are in the organisation. */
async function accountsAt(
  trx: Transaction<Schema>,
  organisation: string,
  addresses: readonly string[],
) {
  const found = await trx
    .selectFrom('emails')
    .leftJoin('organisation_members', (join) =>
      join
        .onRef('organisation_members.account_id', '=', 'emails.account_id')
        .on('organisation_members.organisation_id', '=', organisation),
    )
    .leftJoin('preferences', 'preferences.account_id', 'emails.account_id')
    .select(['address', 'emails.account_id', 'state', 'email_notifications'])
    .where('address', 'in', addresses)
    .execute()
  return new Map(found.map((row) => [row.address, row]))
}

type Accounts = Awaited<ReturnType<typeof accountsAt>>

const STATES: Readonly<Record<OrgMember['state'], Reason>> = {
  active: 'already_member',
  invited: 'already_invited',
  suspended: 'suspended',
}

/** Why each of some addresses is not invited, or null where it is; in order. */
async function judge(
  trx: Transaction<Schema>,
  { id, role }: ActiveOrganisation,
  asked: readonly Asked[],
): Promise<{ reasons: (Reason | null)[]; accounts: Accounts }> {
  const addresses = new Set(
    asked.filter(({ email }) => is(mailbox, email)).map(({ email }) => email.toLowerCase()),
  )
  const known = [...addresses]
  const accounts = known.length === 0 ? new Map() : await accountsAt(trx, id, known)
  const waiting =
    known.length === 0 ? [] : await rows(trx, id).where('email', 'in', known).execute()
  const invited = new Set(waiting.map(({ email }) => email))
  const reasons = asked.map((one): Reason | null => {
    if (!is(mailbox, one.email)) return 'invalid_email'
    const address = one.email.toLowerCase()
    if (!addresses.delete(address)) return 'repeated'
    if (one.role === 'owner' && role !== 'owner') return 'role_not_allowed'
    const state = accounts.get(address)?.state ?? null
    if (state !== null) return STATES[state as OrgMember['state']]
    return invited.has(address) ? 'already_invited' : null
  })
  return { reasons, accounts }
}

/** Who has a mailbox that was invited is told, once an account each. */
async function tell(
  trx: Transaction<Schema>,
  by: { name: string; organisation: ActiveOrganisation },
  told: readonly string[],
  at: number,
): Promise<void> {
  const { id, name } = by.organisation
  const note: Note = {
    kind: 'org_invited',
    title: `${quoted(by.name)} invites you to an organisation`,
    body:
      `Somebody who calls themselves ${quoted(by.name)} invites you to an organisation that they call ${quoted(name)}. ` +
      'You are a member from the next time on that a device of yours renews its session; who is in it then sees your name and your primary address.',
    data: { organisation_id: id },
  }
  await notifyAll(trx, new Map(told.map((account) => [account, note])), at)
}

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
  const mailed = await takePlaces(trx, MAILS, wanted, at)
  const told = made.flatMap(({ email }) => accounts.get(email)?.account_id ?? [])
  await tell(trx, { name: from, organisation }, told, at)
  const activities = made.map(({ id: target, role }) => {
    return { event: 'member_invited', actor: account, target, data: { role } } as const
  })
  await noteActivities(trx, organisation.id, activities, at, ground)
  const said = { from, fromEmail, organisation: organisation.name, publicUrl: ground.publicUrl() }
  return mailed.map((to) => orgInvitationMessage({ ...said, to }))
}

/** Invite mailboxes to the organisation that is active for the caller; the mails go out after the answer. */
export const bulkInvite =
  (ground: Ground): Service['orgMembers']['bulkInvite'] =>
  async ({ body: { invites: asked } }, session) => {
    const { db, now, background, mail } = ground
    const { account } = session
    return managing(db, session, async (trx, organisation) => {
      const { reasons, accounts } = await judge(trx, organisation, asked)
      const at = now()
      const invited: Invite[] = []
      const skipped: Answer['skipped'] = []
      for (const [i, { email, role }] of asked.entries()) {
        const reason = reasons[i] ?? null
        if (reason !== null) skipped.push({ email, reason })
        else
          invited.push({
            id: newId(PREFIX, at),
            organisation_id: organisation.id,
            email: email.toLowerCase(),
            role,
            created_at: at,
          })
      }
      if (invited.length > 0) {
        const by = { account, organisation }
        const letters = await keep(trx, ground, { by, made: invited, accounts, at })
        background.run(() => sendAll(mail, letters))
      }
      return { invited: invited.map(inviteResource), skipped }
    })
  }
