/**
 * Verdicts on addresses that are invited to an organisation: each address is judged separately.
 */
import type { Transaction } from 'kysely'
import { is } from 'valibot'
import { email as mailbox } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { OrgMember } from '../../api/rest/org.ts'
import { type Invite, type Role, invites as rows, isWider } from './member-rows.ts'
import type { Schema } from '../db/schema.ts'

type BulkInvite = Service['orgMembers']['bulkInvite']
type Asked = Parameters<BulkInvite>[0]['body']['invites'][number]
type Reason = Awaited<ReturnType<BulkInvite>>['skipped'][number]['reason']

/**
 * Returns the accounts that have proven these mailboxes, by mailbox. Each has its state and role
 * in the organisation.
 */
export async function accountsAt(
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

export type Accounts = Awaited<ReturnType<typeof accountsAt>>

/** Returns the open invitations to these mailboxes, by mailbox. */
export async function waitingAt(
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
 * The verdict on an address: the reason to skip it, or `widens`. `widens` is the id of the member
 * or invitation that gets the wider role, or null for a new invitation.
 */
type Verdict = { readonly reason: Reason } | { readonly widens: string | null }

/** Returns the requested mailbox, in lower case. */
export const inviteeMailbox = ({ email }: Asked): string => email.trim().toLowerCase()

/** Returns the verdict on each address, in order. */
export function judge(
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
    // Another mailbox of the same account named it before.
    if (seen.has(known.id)) return { reason: 'repeated' }
    seen.add(known.id)
    return { widens: known.id }
  })
}
