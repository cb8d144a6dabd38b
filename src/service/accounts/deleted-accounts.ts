/**
 * The key logs of deleted accounts. Rosters contain their signatures, which every new device of a
 * member checks from the first entry on. So the server keeps their key logs for those members
 * only, under the hash of the account id.
 */
import { hash } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import { taken } from './device-rows.ts'
import type { Schema } from '../db/schema.ts'

/** Returns the identifier of an account in this table: SHA-256 of its id, in hex. */
export const pseudonymOf = (account: string): string => hash('sha256', account, 'hex')

/** Returns the key logs of deleted accounts that the roster of a connection needs, by account. */
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
 * Returns the key log of a deleted account for a member of a connection that names it, else none.
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
 * Throws AppError `conflict` for the id of a deleted account. A new account of that id could sign
 * in its name.
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
