/**
 * Deleted accounts in other members' connections: which rosters name a deleted account, and the
 * epoch of the connection when the account was deleted. `accounts/deleted-accounts.ts` has the key
 * logs.
 */
import type { ExpressionBuilder, ExpressionWrapper, Kysely, SqlBool, Transaction } from 'kysely'
import type { ServiceContext } from '../context.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'
import { pseudonymOf } from '../accounts/deleted-accounts.ts'
import { markInvitations } from '../accounts/invitation-marks.ts'

/** Stores that a roster names an account. */
export async function noteNamed(
  trx: Transaction<Schema>,
  connection: string,
  account: string,
): Promise<void> {
  await trx
    .insertInto('roster_accounts')
    .values({
      connection_id: connection,
      account_hash: pseudonymOf(account),
      departed_epoch: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** Returns which of these accounts were deleted, each with the connection's epoch at that time. */
export async function departedOf(
  db: Kysely<Schema>,
  connection: string,
  accounts: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('roster_accounts')
    .select(['account_hash', 'departed_epoch'])
    .where('connection_id', '=', connection)
    .where('departed_epoch', 'is not', null)
    .$narrowType<{ departed_epoch: number }>()
    .execute()
  if (rows.length === 0) return new Map()
  const epochs = new Map(rows.map((row) => [row.account_hash, row.departed_epoch]))
  return new Map(
    accounts.flatMap((account) => {
      const epoch = epochs.get(pseudonymOf(account))
      return epoch === undefined ? [] : [[account, epoch] as const]
    }),
  )
}

/**
 * Returns the length of each deleted account's key log, as the seq of the newest entry. Each item
 * also has the connection's epoch when the account was deleted.
 */
export async function departedLengths(
  db: Kysely<Schema>,
  connection: string,
  accounts: readonly string[],
) {
  const departed = await departedOf(db, connection, accounts)
  if (departed.size === 0) return []
  const rows = await db
    .selectFrom('departed_key_logs')
    .select(({ fn }) => ['account_hash', fn.max('seq').as('seq')])
    .where('connection_id', '=', connection)
    .groupBy('account_hash')
    .execute()
  const lengths = new Map(rows.map(({ account_hash, seq }) => [account_hash, seq]))
  return [...departed].map(([account, departed_epoch]) => {
    return { account, seq: lengths.get(pseudonymOf(account)) ?? 0, departed_epoch }
  })
}

type Connections = ExpressionBuilder<Schema, 'connections'>

/**
 * Deletes connections without members, with their invitations.
 * @param which a condition for the connections to consider
 */
export async function deleteAbandoned(
  trx: Transaction<Schema>,
  which: (of: Connections) => ExpressionWrapper<Schema, 'connections', SqlBool>,
): Promise<void> {
  const isEmpty = (of: Connections) =>
    of.not(
      of.exists(
        of
          .selectFrom('memberships')
          .select('account_id')
          .whereRef('memberships.connection_id', '=', 'connections.id'),
      ),
    )
  const rows = await trx
    .selectFrom('connections')
    .select('id')
    .where(which)
    .where(isEmpty)
    .execute()
  if (rows.length === 0) return
  const ids = rows.map(({ id }) => id)
  await markInvitations(trx, (of) => of('connection_id', 'in', ids))
  await trx.deleteFrom('connections').where('id', 'in', ids).where(isEmpty).execute()
}

/**
 * Removes an account from its connections, before the account is deleted. The server copies the
 * account's key log, because other members need it to verify the account's signatures. The other
 * members are notified. A connection without other members is deleted.
 * @param at Unix milliseconds
 */
export async function departFrom(
  trx: Transaction<Schema>,
  { events }: Pick<ServiceContext, 'events'>,
  account: string,
  at: number,
): Promise<void> {
  const account_hash = pseudonymOf(account)
  const all = await trx
    .selectFrom('memberships')
    .innerJoin('connections', 'connections.id', 'connection_id')
    .select(['connection_id', 'ended_at'])
    .where('account_id', '=', account)
    .execute()
  const membersOf = all.map(({ connection_id }) => connection_id)
  markChanged(trx, ['connections', 'duties'], { membersOf })
  // Members of connections that have ended are not notified.
  const open = all.filter(({ ended_at }) => ended_at === null)
  await trx.deleteFrom('memberships').where('account_id', '=', account).execute()
  for (const { connection_id: connection } of open)
    await events.publish(trx, { type: 'member.deleted', connection, account, at })
  await deleteAbandoned(trx, (of) =>
    of('id', 'in', (query) =>
      query
        .selectFrom('roster_accounts')
        .select('connection_id')
        .where('account_hash', '=', account_hash),
    ),
  )
  await trx
    .updateTable('roster_accounts')
    .set((of) => ({
      departed_epoch: of
        .selectFrom('connections')
        .select('epoch')
        .whereRef('connections.id', '=', 'roster_accounts.connection_id'),
    }))
    .where('account_hash', '=', account_hash)
    .execute()
  await trx
    .insertInto('departed_key_logs')
    .columns(['connection_id', 'account_hash', 'seq', 'entry', 'stored_at'])
    .expression((of) =>
      of
        .selectFrom('roster_accounts')
        .innerJoin('key_log_entries', (join) => join.on('key_log_entries.account_id', '=', account))
        .select(['connection_id', 'account_hash', 'seq', 'entry', 'stored_at'])
        .where('account_hash', '=', account_hash),
    )
    .execute()
}
