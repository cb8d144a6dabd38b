import type { Kysely } from 'kysely'
import { requireId, notFound } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'

/**
 * Returns the entries of an account's key log in order, and the times at which they were stored.
 * Both lists are empty if the account does not exist.
 */
export async function entriesOf(db: Kysely<Schema>, account: string) {
  const rows = await db
    .selectFrom('key_log_entries')
    .select(['entry', 'stored_at'])
    .where('account_id', '=', account)
    .orderBy('seq')
    .execute()
  return { entries: rows.map((row) => row.entry), storedAt: rows.map((row) => row.stored_at) }
}

/** Returns the same as `entriesOf`, but throws AppError `not_found` if there are no entries. */
export async function readKeyLog(db: Kysely<Schema>, account: string) {
  requireId('acc_', account, 'account')
  const log = await entriesOf(db, account)
  if (log.entries.length === 0) throw notFound('account')
  return log
}

/** Selects the newest sealing keys of the active devices in an account's key log. */
export const sealKeysOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('devices')
    .select(['id', 'seal_key'])
    .where('account_id', '=', account)
    .where('keys', 'is', null)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute()

/** Returns the signed profiles of the accounts that have one, by account id. */
export async function profilesOf(
  db: Kysely<Schema>,
  accounts: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('accounts')
    .select(['id', 'profile'])
    .where('id', 'in', accounts)
    .where('profile', 'is not', null)
    .$narrowType<{ profile: string }>()
    .execute()
  return new Map(rows.map(({ id, profile }) => [id, profile]))
}
