/**
 * The time in which an account cannot be deleted after a reset without its recovery key. A person
 * who reads the owner's mail can make such a reset. The owner can undo it with the recovery paper
 * while the account exists.
 */
import type { Kysely } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import { resetsWithoutKey } from '../../crypto/logs/generations.ts'
import { AppError } from '../../errors.ts'
import { entriesOf } from '../accounts/key-log-rows.ts'
import type { Schema } from '../db/schema.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'

const WAIT_MS = 14 * 24 * 3_600_000

const tooEarly = (reset: number) =>
  new AppError(
    'invalid_state',
    `This account was reset on ${timeAt(reset)} without the recovery key that was in force. It can be deleted from ${timeAt(reset + WAIT_MS)} on, so that the owner of that key can take it back until then. ` +
      'A reset with that key ("countersignd reset --recovery-key") ends the wait. Nothing was deleted.',
    { details: { state: 'reset_without_recovery_key' } },
  )

/**
 * Requires that an account was not reset without its recovery key in the last 14 days. The time
 * is that at which this server stored the reset. A later reset with the key cancels that one.
 * @param at Unix milliseconds
 * @throws AppError `invalid_state`
 */
export async function requireNoFreshReset(
  db: Kysely<Schema>,
  account: string,
  at: number,
): Promise<void> {
  const { entries, storedAt } = await entriesOf(db, account)
  if (entries.length === 0) return
  const { generations } = await storedKeyLog(account, entries)
  const newest = Math.max(...resetsWithoutKey(generations).map((seq) => storedAt[seq]!))
  if (at < newest + WAIT_MS) throw tooEarly(newest)
}
