/** The age of an account, for limits that are lower while the account is new. */
import type { Transaction } from 'kysely'
import type { Schema } from '../db/schema.ts'

const YOUNG_MS = 24 * 3_600_000

/**
 * Returns whether an account began within the last day. The start is the time at which the server
 * stored the first key log entry, because the device chooses the time in the account id.
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
