/**
 * The key logs of deleted accounts. Rosters contain signatures of deleted accounts, and every new
 * device of a member verifies a roster from its first entry. So the server keeps these key logs,
 * readable only by members of such connections, under the hash of the account id.
 */
import { hash } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import { taken } from './device-rows.ts'
import type { Schema } from '../db/schema.ts'

/** Returns the identifier of a deleted account: SHA-256 of its id, in hex. */
export const pseudonymOf = (account: string): string => hash('sha256', account, 'hex')

/** Returns, by account, the key logs of deleted accounts that a connection's roster names. */
export async function departedLogs(
  db: Kysely<Schema>,
  connection: string,
  accounts: readonly string[],
): Promise<Map<string, string[]>> {
  const named = new Map(accounts.map((account) => [pseudonymOf(account), account]))
  const rows = await db
    .selectFrom('departed_key_logs')
    .select(['account_hash', 'entry'])
    .where('connection_id', '=', connection)
    .where('account_hash', 'in', [...named.keys()])
    .orderBy('account_hash')
    .orderBy('seq')
    .execute()
  const byHash = Map.groupBy(rows, ({ account_hash }) => account_hash)
  return new Map(
    [...byHash].map(([hash, of]) => [named.get(hash)!, of.map(({ entry }) => entry)] as const),
  )
}

/**
 * Returns a deleted account's key log if the caller is in a connection that names that account.
 * Otherwise the list is empty.
 */
export async function departedLogFor(
  db: Kysely<Schema>,
  asking: string,
  account: string,
): Promise<string[]> {
  const shared = await db
    .selectFrom('departed_key_logs')
    .innerJoin('memberships', 'memberships.connection_id', 'departed_key_logs.connection_id')
    .select('departed_key_logs.connection_id')
    .where('account_hash', '=', pseudonymOf(account))
    .where('account_id', '=', asking)
    .limit(1)
    .executeTakeFirst()
  if (shared === undefined) return []
  return (await departedLogs(db, shared.connection_id, [account])).get(account) ?? []
}

/**
 * Throws AppError `conflict` if the id belonged to a deleted account. A new account with that id
 * could sign in the name of the deleted one.
 */
export async function requireNeverUsed(trx: Transaction<Schema>, account: string): Promise<void> {
  const row = await trx
    .selectFrom('departed_key_logs')
    .select('account_hash')
    .where('account_hash', '=', pseudonymOf(account))
    .limit(1)
    .executeTakeFirst()
  if (row !== undefined) throw taken()
}
