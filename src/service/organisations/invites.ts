/**
 * Invites many mailboxes to an organisation in one request. Each mailbox is checked separately, and
 * all changes are stored in one transaction. The response does not reveal whether a mailbox has an
 * account, unless that account is already in the organisation.
 */
import type { Transaction } from 'kysely'
import { is } from 'valibot'
import { email as mailbox } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { MOST_INVITES, type OrgMember } from '../../api/rest/org.ts'
import { isId, newId } from '../../crypto/encoding/id.ts'
import type { ActiveOrganisation } from '../accounts/active-organisation.ts'
import type { ServiceContext } from '../context.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'
import type { Schema } from '../db/schema.ts'
import {
  type Invite,
  isWider,
  type Meant,
  ORGANISATION_MEMBER_PREFIX,
  resourcesOf,
  type Role,
  invites as rows,
  selectMembers,
  widenMember,
} from './member-rows.ts'
import { managing, requireRoom } from './organisations.ts'

type BulkInvite = Service['orgMembers']['bulkInvite']
type Asked = Parameters<BulkInvite>[0]['body']['invites'][number]
type Reason = Awaited<ReturnType<BulkInvite>>['skipped'][number]['reason']

/**
 * Returns, by mailbox, the accounts that have confirmed these mailboxes. Each has its state and
 * role in the organisation.
 */
async function accountsAt(
  trx: Transaction<Schema>,
  organisation: string,
  addresses: readonly string[],
) {
  if (addresses.length === 0) return new Map<string, never>()
  const found = await trx
    .selectFrom('emails')
    .leftJoin('organisation_members', (join) =>
      join
        .onRef('organisation_members.account_id', '=', 'emails.account_id')
        .on('organisation_members.organisation_id', '=', organisation),
    )
    .leftJoin('preferences', 'preferences.account_id', 'emails.account_id')
    .select(['address', 'emails.account_id as account', 'state', 'role', 'email_notifications'])
    .where('address', 'in', addresses)
    .execute()
  return new Map(found.map((row) => [row.address, row]))
}

type Accounts = Awaited<ReturnType<typeof accountsAt>>

/** Returns the open invitations to these mailboxes, by mailbox. */
async function waitingAt(
  trx: Transaction<Schema>,
  organisation: string,
  addresses: readonly string[],
): Promise<Map<string, Invite>> {
  if (addresses.length === 0) return new Map()
  const waiting = await rows(trx, organisation).where('email', 'in', addresses).execute()
  return new Map(waiting.map((invite) => [invite.email, invite]))
}

const STATES: Readonly<Record<OrgMember['state'], Reason>> = {
  active: 'already_member',
  invited: 'already_invited',
  suspended: 'suspended',
}

/**
 * What to do with an address: `reason` is why it is skipped. `widens` is the id of the member or
 * invitation that gets the wider role, or null if a new invitation is needed.
 */
type Verdict = { readonly reason: Reason } | { readonly widens: string | null }

/** Returns the requested mailbox, in lower case. */
const inviteeMailbox = ({ email }: Asked): string => email.trim().toLowerCase()

/** Returns the verdict on each address, in order. */
function verdictsOn(
  asked: readonly Asked[],
  of: { by: Role; accounts: Accounts; waiting: ReadonlyMap<string, Invite> },
): Verdict[] {
  const { by, accounts, waiting } = of
  const seen = new Set<string>()
  return asked.map((one): Verdict => {
    const address = inviteeMailbox(one)
    if (!is(mailbox, address)) return { reason: 'invalid_email' }
    if (one.role === 'owner' && by !== 'owner') return { reason: 'role_not_allowed' }
    if (seen.has(address)) return { reason: 'repeated' }
    seen.add(address)
    const invite = waiting.get(address)
    const { state = null, role = null, account = '' } = accounts.get(address) ?? {}
    const known =
      state !== null && role !== null
        ? { id: account, state, role }
        : invite === undefined
          ? null
          : invite
    if (known === null) return { widens: null }
    if (known.state === 'suspended' || !isWider(one.role, known.role))
      return { reason: STATES[known.state] }
    // An earlier item of the request had another mailbox of the same account.
    if (seen.has(known.id)) return { reason: 'repeated' }
    seen.add(known.id)
    return { widens: known.id }
  })
}

const HOUR_MS = 3_600_000

const INVITED: Brake = {
  what: 'org invite',
  most: 20 * MOST_INVITES,
  periodMs: HOUR_MS,
  message: `Too many people were invited. The limit is ${20 * MOST_INVITES} an hour. No one in this request was invited.`,
}

type Answer = Awaited<ReturnType<Service['orgMembers']['bulkInvite']>>

/** Stores invitations. */
async function keep(
  trx: Transaction<Schema>,
  { events }: Pick<ServiceContext, 'events'>,
  of: {
    by: { account: string; organisation: ActiveOrganisation }
    made: readonly Invite[]
    accounts: Accounts
    at: number
  },
): Promise<void> {
  const { by, made, accounts, at } = of
  const { account: actor, organisation } = by
  await requireRoom(trx, organisation.id, made.length)
  await countTryIn(trx, actor, INVITED, at, '', made.length)
  await trx.insertInto('organisation_invites').values(made).execute()
  const invites = made.map(({ id, email, role }) => {
    const known = accounts.get(email)
    const wantsMail = known?.email_notifications !== 0
    return { id, email, role, account: known?.account ?? null, wantsMail }
  })
  await events.publish(trx, { type: 'organisation.invited', organisation, actor, invites, at })
}

/** Changes the role in an invitation. */
const changeInvite = (trx: Transaction<Schema>, { id, role }: { id: string; role: Role }) =>
  trx.updateTable('organisation_invites').set({ role }).where('id', '=', id).execute()

/** Gives members and invitations their wider roles. */
async function widen(
  trx: Transaction<Schema>,
  { events }: Pick<ServiceContext, 'events'>,
  of: {
    by: { account: string; organisation: ActiveOrganisation }
    wider: readonly { id: string; role: Role }[]
    at: number
  },
): Promise<void> {
  const { by, at } = of
  const { account: actor, organisation } = by
  const wider = of.wider.map((one) => ({
    ...one,
    isMember: !isId(ORGANISATION_MEMBER_PREFIX, one.id),
  }))
  await countTryIn(trx, actor, INVITED, at, '', wider.length)
  for (const { id, role, isMember } of wider)
    if (isMember) await widenMember(trx, { organisation: organisation.id, account: id, role })
    else await changeInvite(trx, { id, role })
  await events.publish(trx, { type: 'organisation.roles_widened', organisation, actor, wider, at })
}

/** Returns the members and invitations with these ids, in the same order. */
async function resourcesBy(
  trx: Transaction<Schema>,
  organisation: string,
  ids: readonly string[],
): Promise<OrgMember[]> {
  if (ids.length === 0) return []
  const invites = await rows(trx, organisation).where('id', 'in', ids).execute()
  const joined = await selectMembers(trx, organisation)
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
 * Invites mailboxes to the caller's active organisation. If a mailbox is already a member or
 * invited with a narrower role, it gets the wider role.
 */
export const bulkInvite =
  (ground: ServiceContext): Service['orgMembers']['bulkInvite'] =>
  async ({ body: { invites: asked } }, session) => {
    const { events, now } = ground
    return managing(events, session, async (trx, organisation) => {
      const addresses = [...new Set(asked.map(inviteeMailbox))]
      const accounts = await accountsAt(trx, organisation.id, addresses)
      const waiting = await waitingAt(trx, organisation.id, addresses)
      const at = now()
      const made: Invite[] = []
      const wider: { id: string; role: Role }[] = []
      const skipped: Answer['skipped'] = []
      const ids: string[] = []
      const verdicts = verdictsOn(asked, { by: organisation.role, accounts, waiting })
      for (const [i, one] of asked.entries()) {
        const verdict = verdicts[i]!
        if ('reason' in verdict) {
          skipped.push({ email: one.email, reason: verdict.reason })
          continue
        }
        const id = verdict.widens ?? newId(ORGANISATION_MEMBER_PREFIX, at)
        ids.push(id)
        if (verdict.widens !== null) wider.push({ id, role: one.role })
        else
          made.push({
            id,
            organisation_id: organisation.id,
            email: inviteeMailbox(one),
            role: one.role,
            state: 'invited',
            created_at: at,
          })
      }
      const by = { account: session.account, organisation }
      if (wider.length > 0) await widen(trx, ground, { by, wider, at })
      if (made.length > 0) await keep(trx, ground, { by, made, accounts, at })
      return { invited: await resourcesBy(trx, organisation.id, ids), skipped }
    })
  }
