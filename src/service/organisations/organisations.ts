/** Organisations. The role of a membership decides what an account may do in one. */
import type { Kysely, Transaction } from 'kysely'
import type { Service } from '../../api/port.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'

/**
 * Checks that an account is an active owner or admin of the organisation.
 * @throws AppError `not_found` if the account is not in it, `forbidden` for another role or state
 */
export async function requireManager(
  db: Kysely<Schema>,
  organisation: string,
  account: string,
): Promise<void> {
  const member = await db
    .selectFrom('organisation_members')
    .select(['role', 'state'])
    .where('organisation_id', '=', organisation)
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (member === undefined) throw notFound('organisation')
  if (member.state !== 'active' || member.role === 'member')
    throw new AppError(
      'forbidden',
      'Only an active owner or admin of the organisation may do this: ask one of them.',
    )
}

/**
 * Locks an organisation, if it exists, until the transaction ends. Call it before any of its
 * accounts is locked.
 */
export async function holdOrganisation(
  trx: Transaction<Schema>,
  organisation: string,
): Promise<void> {
  // Changes nothing. An update locks the row in both database engines.
  await trx
    .updateTable('organisations')
    .set((of) => ({ name: of.ref('name') }))
    .where('id', '=', organisation)
    .execute()
}

/** The most members of an organisation, machines and invited mailboxes included. */
export const MOST_ORGANISATION_MEMBERS = 20_000

/**
 * Checks that an organisation, which is locked, has room for so many more members.
 * @throws AppError `conflict`
 */
export async function requireRoom(
  trx: Transaction<Schema>,
  organisation: string,
  more: number,
): Promise<void> {
  const counted = (table: 'organisation_members' | 'organisation_invites') =>
    trx
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('organisation_id', '=', organisation)
      .executeTakeFirstOrThrow()
  const [members, invites] = [
    await counted('organisation_members'),
    await counted('organisation_invites'),
  ]
  if (Number(members.count) + Number(invites.count) + more > MOST_ORGANISATION_MEMBERS)
    throw new AppError(
      'conflict',
      `An organisation has at most ${MOST_ORGANISATION_MEMBERS} members, machines and invited mailboxes included: no member was added.`,
    )
}

/**
 * The most organisations that one person creates. Those of which others made the person an owner
 * do not count.
 */
const MOST_OWNED = 100

/**
 * Checks that an account may create another organisation.
 * @throws AppError `conflict`
 */
async function requireFewerOwned(trx: Transaction<Schema>, account: string): Promise<void> {
  await lockAccount(trx, account)
  const { count } = await trx
    .selectFrom('organisation_members')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', account)
    .where('role', '=', 'owner')
    .where('invited_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (Number(count) >= MOST_OWNED)
    throw new AppError('conflict', `A person makes at most ${MOST_OWNED} organisations.`)
}

export const organisations = ({
  db,
  now,
}: Pick<ServiceContext, 'db' | 'now'>): Service['organisations'] => ({
  create: ({ body }, { account }) =>
    db.transaction().execute(async (inside) => {
      const { kind } = await inside
        .selectFrom('accounts')
        .select('kind')
        .where('id', '=', account)
        .executeTakeFirstOrThrow()
      if (kind !== 'person')
        throw new AppError('forbidden', 'Only a person may create an organisation.')
      await requireFewerOwned(inside, account)
      const at = now()
      const id = newId('org_', at)
      const { name } = body
      await inside.insertInto('organisations').values({ id, name, created_at: at }).execute()
      await inside
        .insertInto('organisation_members')
        .values({
          organisation_id: id,
          account_id: account,
          role: 'owner',
          state: 'active',
          joined_at: at,
          member_id: newId('mem_', at),
        })
        .execute()
      return { id, name, role: 'owner' as const }
    }),
})
