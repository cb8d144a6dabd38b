/**
 * Whether an account's recovery key links its current keys to earlier ones.
 * @see docs/protocol.md section 3
 */
import type { Kysely } from 'kysely'
import { generationAt, isLinked } from '../../crypto/logs/key-log.ts'
import { entriesOf } from './key-log-rows.ts'
import type { Schema } from '../db/schema.ts'
import { storedKeyLog } from './stored-logs.ts'

/**
 * Returns whether the newest generation is linked to the generation at `since`.
 * @param since Unix milliseconds
 */
export async function isLinkedSince(
  db: Kysely<Schema>,
  account: string,
  since: number,
): Promise<boolean> {
  const { entries, storedAt } = await entriesOf(db, account)
  const then = storedAt.findLastIndex((at) => at <= since)
  if (then === -1) return false
  const log = await storedKeyLog(account, entries)
  return isLinked(log, generationAt(log, then), log.generation)
}
