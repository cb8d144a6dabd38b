/**
 * Access to a connection's rows: members' roles, the lock of a connection, and the time of its last
 * change, by which devices notice changes.
 */
import type { Expression, ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { connectionEnded } from '../../api/connection-ended.ts'
import { AppError } from '../../errors.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'
import type { Subscriber } from '../events.ts'

type Role = Schema['memberships']['role']

export const CONNECTION_PREFIX = 'con_'

/** Returns the role of an account in a connection; null if it is not a member. */
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

/**
 * Returns the role of an account in a connection.
 * @throws AppError `not_found` unless it is a member
 */
export async function requireMember(
  db: Kysely<Schema>,
  account: string,
  connection: string,
): Promise<Role> {
  requireId(CONNECTION_PREFIX, connection, 'connection')
  const role = await roleIn(db, connection, account)
  if (role === null) throw notFound('connection')
  return role
}

/**
 * Checks that an account is an owner of the connection.
 * @throws AppError `not_found` unless it is a member, `forbidden` unless it is an owner
 */
export async function requireOwner(
  db: Kysely<Schema>,
  account: string,
  connection: string,
): Promise<void> {
  if ((await requireMember(db, account, connection)) !== 'owner')
    throw new AppError('forbidden', 'Only an owner of the connection may do this. Ask one of them.')
}

/**
 * Checks that no owner has ended the connection.
 * @throws AppError `invalid_state`
 */
export async function requireGoingOn(db: Kysely<Schema>, connection: string): Promise<void> {
  const row = await db
    .selectFrom('connections')
    .select('ended_at')
    .where('id', '=', connection)
    .executeTakeFirst()
  if (row === undefined || row.ended_at === null) return
  throw connectionEnded()
}

/** Locks a connection until the transaction ends. Does nothing if the connection does not exist. */
export async function lockConnection(trx: Transaction<Schema>, id: string): Promise<void> {
  // This update changes nothing. It locks the row in both database engines.
  await trx
    .updateTable('connections')
    .set((of) => ({ epoch: of.ref('epoch') }))
    .where('id', '=', id)
    .execute()
}

/**
 * Returns the new value of `updated_at`, in Unix milliseconds. It is always greater than the
 * previous value, even if the clock is behind, so that no device misses the change.
 */
export const later = (
  of: ExpressionBuilder<Schema, 'memberships'>,
  at: number,
): { updated_at: Expression<number> } => ({
  updated_at: of
    .case()
    .when('updated_at', '<', at)
    .then(of.val(at))
    .else(of('updated_at', '+', 1))
    .end() as Expression<number>,
})

/**
 * Makes members' devices fetch the connection again.
 * @param accounts only these members; undefined for all members
 */
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
  if (accounts === undefined)
    markChanged(trx, ['connections', 'duties'], { membersOf: [connection] })
  else markChanged(trx, ['connections'], { accounts })
}

/**
 * Makes the devices of all members of an account's connections fetch those connections again.
 * Called when the account's key log or profile has changed, and before the account is deleted.
 */
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
  markChanged(trx, ['connections', 'duties'], { contactsOf: [account] })
}

/** Makes the devices of an account's contacts fetch the account's keys and name again. */
export const touchContacts: Subscriber<'key_log.appended' | 'profile.signed'> = (
  { trx },
  { account, at },
) => touchConnectionsOf(trx, account, at)
