/**
 * Members of an organisation as the tables have them: accounts that are in it, and mailboxes that were invited. To whoever lists them
 * they are one list; of a mailbox nothing is told but itself, whether it is an account's or nobody's.
 */
import type { Kysely } from 'kysely'
import { timeAt } from '../api/fields.ts'
import type { OrgMember } from '../api/rest/org.ts'
import { isId } from '../crypto/id.ts'
import type { Schema } from './schema.ts'

export const PREFIX = 'mem_'

type Invite = Schema['organisation_invites']

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

/** So many of them, the newest, before one; in no order. */
export const membersBefore = (
  db: Kysely<Schema>,
  organisation: string,
  before: string | null,
  most: number,
) =>
  members(db, organisation).where('organisation_members.account_id', 'in', (of) =>
    of
      .selectFrom('organisation_members as page')
      .select('page.account_id')
      .where('page.organisation_id', '=', organisation)
      .$if(before !== null, (query) => query.where('page.member_id', '<', before!))
      .orderBy('page.member_id', 'desc')
      .limit(most),
  )

export type Member = Awaited<ReturnType<ReturnType<typeof members>['executeTakeFirstOrThrow']>>

/** The mailboxes that an organisation has invited and nobody has joined by. */
export const invites = (db: Kysely<Schema>, organisation: string) =>
  db.selectFrom('organisation_invites').selectAll().where('organisation_id', '=', organisation)

export const memberResource = (row: Member): OrgMember => ({
  id: row.account_id,
  user_id: row.account_id,
  email: row.address,
  display_name: row.display_name,
  kind: row.kind,
  role: row.role,
  state: row.state,
  joined_at: row.state === 'invited' ? null : timeAt(row.joined_at),
  created_at: timeAt(row.invited_at ?? row.joined_at),
})

export const inviteResource = ({ id, email, role, created_at }: Invite): OrgMember => ({
  id,
  user_id: null,
  email,
  display_name: null,
  kind: 'person',
  role,
  state: 'invited',
  joined_at: null,
  created_at: timeAt(created_at),
})

/** Who is meant: an account that is in the organisation, or a mailbox that was invited. */
export type Meant = { readonly member: Member } | { readonly invite: Invite }

/** Whom an id names, of an account or of the list; null for nobody there. */
export async function meantBy(
  db: Kysely<Schema>,
  organisation: string,
  id: string,
): Promise<Meant | null> {
  const isListed = isId(PREFIX, id)
  if (!isListed && !isId('acc_', id)) return null
  const column = isListed ? 'member_id' : 'organisation_members.account_id'
  // Whoever joins in between keeps the id: asked in this order, nobody is missed.
  const invite = isListed
    ? await invites(db, organisation).where('id', '=', id).executeTakeFirst()
    : undefined
  if (invite !== undefined) return { invite }
  const member = await members(db, organisation).where(column, '=', id).executeTakeFirst()
  return member === undefined ? null : { member }
}
