/** What is to become of addresses that somebody invites to an organisation: each is judged alone. */
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

/** The accounts that have proven some mailboxes, by mailbox, with what they are in the organisation. */
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

/** The mailboxes among some that were invited before. */
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

/** What is to become of an address: nothing, a new invitation, or a wider role of the member or invitation that has this id. */
type Verdict = { readonly reason: Reason } | { readonly widens: string | null }

/** The mailbox that is meant, in lower case. */
export const addressOf = ({ email }: Asked): string => email.trim().toLowerCase()

/** What is to become of each address, in order. */
export function judge(
  asked: readonly Asked[],
  of: { by: Role; accounts: Accounts; waiting: ReadonlyMap<string, Invite> },
): Verdict[] {
  const { by, accounts, waiting } = of
  const seen = new Set<string>()
  return asked.map((one): Verdict => {
    const address = addressOf(one)
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
    // By another mailbox of the same account.
    if (seen.has(known.id)) return { reason: 'repeated' }
    seen.add(known.id)
    return { widens: known.id }
  })
}
