/**
 * What several groups ask of the rows of a connection: who is in it, that nobody else changes it meanwhile, and the time by which
 * devices see that it changed.
 */
import type { Expression, ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { connectionEnded } from '../../api/connection-ended.ts'
import { AppError } from '../../errors.ts'
import { demandId, notFound } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import type { Subscriber } from '../events.ts'

type Role = Schema['memberships']['role']

export const PREFIX = 'con_'

/** What an account is in a connection; null for who is no member. */
export async function roleIn(
  db: Kysely<Schema>,
  connection: string,
  account: string,
): Promise<Role | null> {
  const row = await db
    .selectFrom('memberships')
    .select('role')
    .where('account_id', '=', account)
    .where('connection_id', '=', connection)
    .executeTakeFirst()
  return row?.role ?? null
}

/** What the account is in the connection. Throws AppError `not_found` unless it is a member. */
export async function demandMember(
  db: Kysely<Schema>,
  account: string,
  connection: string,
): Promise<Role> {
  demandId(PREFIX, connection, 'connection')
  const role = await roleIn(db, connection, account)
  if (role === null) throw notFound('connection')
  return role
}

/** Throws AppError `not_found` unless the account is a member of the connection, `forbidden` unless it is an owner. */
export async function demandOwner(
  db: Kysely<Schema>,
  account: string,
  connection: string,
): Promise<void> {
  if ((await demandMember(db, account, connection)) !== 'owner')
    throw new AppError('forbidden', 'Only an owner of the connection may do that: ask one of them.')
}

/** Throws AppError `invalid_state` for a connection that an owner ended. */
export async function demandGoingOn(db: Kysely<Schema>, connection: string): Promise<void> {
  const row = await db
    .selectFrom('connections')
    .select('ended_at')
    .where('id', '=', connection)
    .executeTakeFirst()
  if (row === undefined || row.ended_at === null) return
  throw connectionEnded()
}

/** Keep others from changing a connection, should it exist, until the transaction ends. */
export async function holdConnection(trx: Transaction<Schema>, id: string): Promise<void> {
  // Changes nothing. It is how both engines hold a row.
  await trx
    .updateTable('connections')
    .set((of) => ({ epoch: of.ref('epoch') }))
    .where('id', '=', id)
    .execute()
}

/** The time of a change, Unix milliseconds: later than the one before, whatever the clock says, so that no device misses it. */
export const later = (
  of: ExpressionBuilder<Schema, 'memberships'>,
  at: number,
): { updated_at: Expression<number> } => ({
  updated_at: of
    .case()
    .when('updated_at', '<', at)
    .then(at)
    .else(of('updated_at', '+', 1))
    .end() as Expression<number>,
})

/** Members' devices are to fetch the connection again: all of them, or those of the accounts. */
export async function touchConnection(
  trx: Transaction<Schema>,
  connection: string,
  at: number,
  accounts?: readonly string[],
): Promise<void> {
  await trx
    .updateTable('memberships')
    .set((of) => later(of, at))
    .where('connection_id', '=', connection)
    .$if(accounts !== undefined, (query) => query.where('account_id', 'in', accounts ?? []))
    .execute()
}

/** The same for all members of every connection of an account: its key log has grown. */
export async function touchConnectionsOf(
  trx: Transaction<Schema>,
  account: string,
  at: number,
): Promise<void> {
  await trx
    .updateTable('memberships')
    .set((of) => later(of, at))
    .where('connection_id', 'in', (of) =>
      of
        .selectFrom('memberships as own')
        .select('own.connection_id')
        .where('own.account_id', '=', account),
    )
    .execute()
}

/** Makes the devices of an account's contacts fetch its keys and its name again. */
export const touchContacts: Subscriber<'key_log.appended' | 'profile.signed'> = (
  { trx },
  { account, at },
) => touchConnectionsOf(trx, account, at)
