/**
 * The key logs of deleted accounts. Rosters carry their signatures, which every new device of a
 * member checks from the first entry on. So their key logs stay for those members only, under the
 * hash of the account's id.
 */
import { hash } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import { taken } from './device-rows.ts'
import type { Schema } from '../db/schema.ts'

/** What tells an account here: SHA-256 of its id, hex. */
export const pseudonymOf = (account: string): string => hash('sha256', account, 'hex')

/** The key logs of deleted accounts that the roster of a connection rests on, each in order, by account. */
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

/** The key log of a deleted account as a member of a connection that names it may read it; empty for anybody else. */
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

/** Throws AppError `conflict` for the id of an account that was deleted: whoever took it would sign in its name. */
export async function demandNeverUsed(trx: Transaction<Schema>, account: string): Promise<void> {
  const row = await trx
    .selectFrom('departed_key_logs')
    .select('account_hash')
    .where('account_hash', '=', pseudonymOf(account))
    .limit(1)
    .executeTakeFirst()
  if (row !== undefined) throw taken()
}
