/**
 * Deleted accounts in the connections of others: which connections name them, and the epoch at
 * which they were deleted. `accounts/deleted-accounts.ts` has their key logs.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Ground } from '../context.ts'
import type { Schema } from '../db/schema.ts'
import { pseudonymOf } from '../accounts/deleted-accounts.ts'

/** A roster names an account from now on. */
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

/** Of these accounts those that were deleted, each with the epoch of the connection at that time. */
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

/** How long those logs are: the seq of the newest entry of each, and the epoch in which its account went. */
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

/** Deletes connections, which the caller chooses, that are without members: each account that the roster still names is deleted. */
export const deleteAbandoned = (trx: Transaction<Schema>) =>
  trx
    .deleteFrom('connections')
    .where((of) =>
      of.not(
        of.exists(
          of
            .selectFrom('memberships')
            .select('account_id')
            .whereRef('memberships.connection_id', '=', 'connections.id'),
        ),
      ),
    )

/**
 * An account that is about to be deleted goes from its connections: those who stay have their devices fetch them, and keep what its
 * signatures are checked by. Where nobody stays, the connection ends.
 * @param at Unix milliseconds
 */
export async function departFrom(
  trx: Transaction<Schema>,
  { events }: Pick<Ground, 'events'>,
  account: string,
  at: number,
): Promise<void> {
  const account_hash = pseudonymOf(account)
  // The members of a connection that has ended are not notified.
  const open = await trx
    .selectFrom('memberships')
    .innerJoin('connections', 'connections.id', 'connection_id')
    .select('connection_id')
    .where('account_id', '=', account)
    .where('ended_at', 'is', null)
    .execute()
  await trx.deleteFrom('memberships').where('account_id', '=', account).execute()
  for (const { connection_id: connection } of open)
    await events.publish(trx, { type: 'member.deleted', connection, account, at })
  await deleteAbandoned(trx)
    .where('id', 'in', (of) =>
      of
        .selectFrom('roster_accounts')
        .select('connection_id')
        .where('account_hash', '=', account_hash),
    )
    .execute()
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
