/**
 * Rows of an organisation's members, which are accounts and invited mailboxes. Both are in one
 * list. The entry of an invited mailbox does not reveal whether the mailbox has an account.
 */
import type { Kysely, Transaction } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { OrgMember } from '../../api/rest/org.ts'
import { ID_PREFIX, isId } from '../../crypto/encoding/id.ts'
import type { Issue } from '../../errors.ts'
import type { Schema } from '../db/schema.ts'

export const ORGANISATION_MEMBER_PREFIX = 'mem_'

export type Invite = Schema['organisation_invites']
export type Role = Invite['role']

/** Selects the accounts in an organisation, each with its names. */
export const selectMembers = (db: Kysely<Schema>, organisation: string) =>
  db
    .selectFrom('organisation_members')
    .innerJoin('accounts', 'accounts.id', 'organisation_members.account_id')
    .selectAll('organisation_members')
    .select((of) => [
      'display_name',
      'kind',
      // A subquery for each listed row, because for a join PostgreSQL may read all mailboxes.
      of
        .selectFrom('emails')
        .select('address')
        .whereRef('emails.account_id', '=', 'organisation_members.account_id')
        .where('is_primary', '=', 1)
        .limit(1)
        .as('address'),
    ])
    .where('organisation_members.organisation_id', '=', organisation)

/**
 * Selects the newest members before the id `before`, at most `most`, in no particular order. If
 * `before` is null, it starts with the newest. If `state` is given, only members in that state
 * count.
 */
export const membersBefore = (
  db: Kysely<Schema>,
  organisation: string,
  before: string | null,
  most: number,
  state?: OrgMember['state'],
) =>
  selectMembers(db, organisation).where('organisation_members.account_id', 'in', (of) =>
    of
      .selectFrom('organisation_members as page')
      .select('page.account_id')
      .where('page.organisation_id', '=', organisation)
      .$if(before !== null, (query) => query.where('page.member_id', '<', before!))
      .$if(state !== undefined, (query) => query.where('page.state', '=', state!))
      .orderBy('page.member_id', 'desc')
      .limit(most),
  )

export type OrganisationMemberRow = Awaited<
  ReturnType<ReturnType<typeof selectMembers>['executeTakeFirstOrThrow']>
>

/** Selects an organisation's invitations to mailboxes that have not joined. */
export const invites = (db: Kysely<Schema>, organisation: string) =>
  db.selectFrom('organisation_invites').selectAll().where('organisation_id', '=', organisation)

/** The roles, from the widest to the narrowest. */
const ROLES: readonly Role[] = ['owner', 'admin', 'member']

/** Returns whether role `a` allows more than role `b`. */
export const isWider = (a: Role, b: Role): boolean => ROLES.indexOf(a) < ROLES.indexOf(b)

const memberResource = (row: OrganisationMemberRow, group_ids: string[]): OrgMember => ({
  id: row.account_id,
  user_id: row.account_id,
  email: row.email ?? row.address,
  display_name: row.display_name,
  kind: row.kind,
  role: row.role,
  state: row.state,
  group_ids,
  joined_at: row.state === 'invited' ? null : timeAt(row.joined_at),
  created_at: timeAt(row.invited_at ?? row.joined_at),
})

const inviteResource = ({ id, email, role, state, created_at }: Invite): OrgMember => ({
  id,
  user_id: null,
  email,
  display_name: null,
  kind: 'person',
  role,
  state,
  group_ids: [],
  joined_at: null,
  created_at: timeAt(created_at),
})

/** An account in the organisation, or an invited mailbox. */
export type Meant = { readonly member: OrganisationMemberRow } | { readonly invite: Invite }

/** Converts members and invitations to resources, in the same order, each with its groups. */
export async function resourcesOf(
  db: Kysely<Schema>,
  organisation: string,
  all: readonly Meant[],
): Promise<OrgMember[]> {
  const accounts = all.flatMap((one) => ('member' in one ? [one.member.account_id] : []))
  const rows =
    accounts.length === 0
      ? []
      : await db
          .selectFrom('organisation_group_members')
          .select(['account_id', 'group_id'])
          .where('organisation_id', '=', organisation)
          .where('account_id', 'in', accounts)
          .orderBy('group_id')
          .execute()
  const groups = Map.groupBy(rows, ({ account_id }) => account_id)
  return all.map((one) => {
    if ('invite' in one) return inviteResource(one.invite)
    const own = groups.get(one.member.account_id) ?? []
    return memberResource(
      one.member,
      own.map(({ group_id }) => group_id),
    )
  })
}

export const roleOf = (meant: Meant): Role =>
  'invite' in meant ? meant.invite.role : meant.member.role

/**
 * Returns the member or invitation with an id, or null. The id may be an account's, a machine's, or
 * the entry's id in the list.
 */
export async function meantBy(
  db: Kysely<Schema>,
  organisation: string,
  id: string,
): Promise<Meant | null> {
  const isListed = isId(ORGANISATION_MEMBER_PREFIX, id)
  const isMachine = isId('mch_', id)
  if (!isListed && !isMachine && !isId('acc_', id)) return null
  // Invitations are read before members. A mailbox that joins between the queries keeps its id, so
  // it is not missed.
  const invite = isListed
    ? await invites(db, organisation).where('id', '=', id).executeTakeFirst()
    : undefined
  if (invite !== undefined) return { invite }
  const all = selectMembers(db, organisation)
  const column = isListed ? 'member_id' : 'organisation_members.account_id'
  // A machine id is accepted, because it is in the machine's key file and does not change when the
  // first device enrols.
  const machine = db.selectFrom('machines').select('account_id').where('id', '=', id)
  const named = all.where(column, '=', isMachine ? machine : id)
  const member = await named.executeTakeFirst()
  return member === undefined ? null : { member }
}

/**
 * Gives an active member a wider role. Returns false, and changes nothing, if the role is not
 * wider.
 */
export async function widenMember(
  trx: Transaction<Schema>,
  of: { organisation: string; account: string; role: Role },
): Promise<boolean> {
  const { organisation, account, role } = of
  const before = await trx
    .selectFrom('organisation_members')
    .select(['role', 'state'])
    .where('organisation_id', '=', organisation)
    .where('account_id', '=', account)
    .executeTakeFirstOrThrow()
  if (before.state !== 'active' || !isWider(role, before.role)) return false
  await trx
    .updateTable('organisation_members')
    .set({ role })
    .where('organisation_id', '=', organisation)
    .where('account_id', '=', account)
    .execute()
  return true
}

/** How many issues one error lists at most, as in other validation errors. */
const MOST_ISSUES = 20

/**
 * Returns the issues for ids in a request that are not accounts of the organisation's members.
 * Suspended members are allowed.
 * @param of `path`: the name of the list in the request
 */
export async function strangersAmong(
  trx: Transaction<Schema>,
  organisation: string,
  { path, ids }: { path: string; ids: readonly string[] },
): Promise<Issue[]> {
  const accounts = ids.filter((id) => isId(ID_PREFIX.account, id) || isId(ID_PREFIX.machine, id))
  const rows =
    accounts.length === 0
      ? []
      : await trx
          .selectFrom('organisation_members')
          .select('account_id')
          .where('organisation_id', '=', organisation)
          .where('account_id', 'in', accounts)
          .where('state', 'in', ['active', 'suspended'])
          .execute()
  const known = new Set(rows.map(({ account_id }) => account_id))
  const messageOf = (id: string) =>
    isId(ORGANISATION_MEMBER_PREFIX, id)
      ? 'This names an invitation. Name the member by account id (acc_…) after they have joined.'
      : 'No member of the organisation has this id. GET /api/v1/org/members ("countersignd org members") lists the members.'
  return ids
    .flatMap((id, i) => (known.has(id) ? [] : [{ path: `${path}.${i}`, message: messageOf(id) }]))
    .slice(0, MOST_ISSUES)
}
