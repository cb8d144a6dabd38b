import type { Kysely } from 'kysely'
import { demandId, notFound } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'

/** The entries of an account's log, in order, with the time each came; none where there is no such account. */
export async function entriesOf(db: Kysely<Schema>, account: string) {
  const rows = await db
    .selectFrom('key_log_entries')
    .select(['entry', 'stored_at'])
    .where('account_id', '=', account)
    .orderBy('seq')
    .execute()
  return { entries: rows.map((row) => row.entry), storedAt: rows.map((row) => row.stored_at) }
}

/** The same; throws AppError `not_found` where there is none. */
export async function readKeyLog(db: Kysely<Schema>, account: string) {
  demandId('acc_', account, 'account')
  const log = await entriesOf(db, account)
  if (log.entries.length === 0) throw notFound('account')
  return log
}

/** The newest sealing keys of the devices that the log of an account has as active. */
export const sealKeysOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('devices')
    .select(['id', 'seal_key'])
    .where('account_id', '=', account)
    .where('keys', 'is', null)
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute()

/** The signed profiles of accounts, by account id, of those that have one. */
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
