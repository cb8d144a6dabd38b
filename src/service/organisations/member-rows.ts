/**
 * Members of an organisation as the tables have them: accounts that are in it, and mailboxes that were invited. To whoever lists them
 * they are one list; of a mailbox nothing is told but itself, whether it is an account's or nobody's.
 */
import type { Kysely } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { OrgMember } from '../../api/rest/org.ts'
import { isId } from '../../crypto/encoding/id.ts'
import type { Schema } from '../db/schema.ts'

export const PREFIX = 'mem_'

export type Invite = Schema['organisation_invites']
export type Role = Invite['role']

/** The accounts in an organisation, each with its names. */
export const members = (db: Kysely<Schema>, organisation: string) =>
  db
    .selectFrom('organisation_members')
    .innerJoin('accounts', 'accounts.id', 'organisation_members.account_id')
    .selectAll('organisation_members')
    .select((of) => [
      'display_name',
      'kind',
      // Looked up for each that is shown: joined, PostgreSQL may read the mailboxes of everybody.
      of
        .selectFrom('emails')
        .select('address')
        .whereRef('emails.account_id', '=', 'organisation_members.account_id')
        .where('is_primary', '=', 1)
        .limit(1)
        .as('address'),
    ])
    .where('organisation_members.organisation_id', '=', organisation)

/** So many of them, the newest, before one and in one state where that is given; in no order. */
export const membersBefore = (
  db: Kysely<Schema>,
  organisation: string,
  before: string | null,
  most: number,
  state?: OrgMember['state'],
) =>
  members(db, organisation).where('organisation_members.account_id', 'in', (of) =>
    of
      .selectFrom('organisation_members as page')
      .select('page.account_id')
      .where('page.organisation_id', '=', organisation)
      .$if(before !== null, (query) => query.where('page.member_id', '<', before!))
      .$if(state !== undefined, (query) => query.where('page.state', '=', state!))
      .orderBy('page.member_id', 'desc')
      .limit(most),
  )

export type Member = Awaited<ReturnType<ReturnType<typeof members>['executeTakeFirstOrThrow']>>

/** The mailboxes that an organisation has invited and nobody has joined by. */
export const invites = (db: Kysely<Schema>, organisation: string) =>
  db.selectFrom('organisation_invites').selectAll().where('organisation_id', '=', organisation)

/** From the widest. */
const ROLES: readonly Role[] = ['owner', 'admin', 'member']

/** Whether a role may do more than another. */
export const isWider = (a: Role, b: Role): boolean => ROLES.indexOf(a) < ROLES.indexOf(b)

const memberResource = (row: Member, group_ids: string[]): OrgMember => ({
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

export const inviteResource = ({ id, email, role, state, created_at }: Invite): OrgMember => ({
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

/** Who is meant: an account that is in the organisation, or a mailbox that was invited. */
export type Meant = { readonly member: Member } | { readonly invite: Invite }

/** The same as resources, in order, each with the groups that it is in. */
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

/** The member or invitation that an id names (of an account, a machine or the list), or null. */
export async function meantBy(
  db: Kysely<Schema>,
  organisation: string,
  id: string,
): Promise<Meant | null> {
  const isListed = isId(PREFIX, id)
  const isMachine = isId('mch_', id)
  if (!isListed && !isMachine && !isId('acc_', id)) return null
  // Whoever joins in between keeps the id: asked in this order, nobody is missed.
  const invite = isListed
    ? await invites(db, organisation).where('id', '=', id).executeTakeFirst()
    : undefined
  if (invite !== undefined) return { invite }
  const all = members(db, organisation)
  const column = isListed ? 'member_id' : 'organisation_members.account_id'
  // Its key file names a machine so, before and after its first device gave it an account id.
  const machine = db.selectFrom('machines').select('account_id').where('id', '=', id)
  const named = all.where(column, '=', isMachine ? machine : id)
  const member = await named.executeTakeFirst()
  return member === undefined ? null : { member }
}
