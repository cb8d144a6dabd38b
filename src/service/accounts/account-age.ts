/** How old an account is, for limits that are lower while it is new. */
import type { Transaction } from 'kysely'
import type { Schema } from '../db/schema.ts'

const YOUNG_MS = 24 * 3_600_000

/**
 * Whether an account began within the last day, by the time at which the server stored its first
 * key log entry: a device chooses the time in the account's id.
 * @param at Unix milliseconds
 */
export async function isYoung(
  trx: Transaction<Schema>,
  account: string,
  at: number,
): Promise<boolean> {
  const first = await trx
    .selectFrom('key_log_entries')
    .select('stored_at')
    .where('account_id', '=', account)
    .where('seq', '=', 0)
    .executeTakeFirst()
  return first !== undefined && first.stored_at > at - YOUNG_MS
}
