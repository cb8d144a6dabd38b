/**
 * A rate limit for one kind of attempt. Attempts are counted per account in the database, which all
 * replicas share.
 */
import type { Kysely, Transaction } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { lockAccount } from './locks.ts'
import type { Schema } from './schema.ts'

export interface Brake {
  readonly what: Schema['tries']['what']
  /** The maximum number of attempts in a period. */
  readonly most: number
  /** The length of the period in milliseconds. */
  readonly periodMs: number
  /** The error message, before "Try again in …". */
  readonly message: string
}

/**
 * Counts an attempt in a transaction. The count is kept only if the transaction commits. Until
 * then, other attempts by the account wait.
 * @param about what the attempt concerns, as letters and digits. Only attempts with the same value
 *   are counted together. Empty: all attempts.
 * @param times how many attempts to count. Either all of them are counted or none.
 * @throws AppError `rate_limited`, with Retry-After, if there were too many in the period
 */
export async function countTryIn(
  trx: Transaction<Schema>,
  account: string,
  { what, most, periodMs, message }: Brake,
  at: number,
  about = '',
  times = 1,
): Promise<void> {
  // Because of this lock, concurrent requests cannot exceed the limit together.
  await lockAccount(trx, account)
  await trx
    .deleteFrom('tries')
    .where('account_id', '=', account)
    .where('what', '=', what)
    // A row that expires later was written while the clock was wrong, because replicas' clocks
    // differ by less than a period.
    .where((of) => of.or([of('expires_at', '<=', at), of('expires_at', '>', at + 2 * periodMs)]))
    .execute()
  const { count, first } = await trx
    .selectFrom('tries')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('expires_at').as('first')])
    .where('account_id', '=', account)
    .where('what', '=', what)
    .where('id', 'like', `${about}%`)
    .executeTakeFirstOrThrow()
  if (Number(count) + times > most) throw tooMany(message, (first ?? at) - at)
  await trx
    .insertInto('tries')
    .values(
      Array.from({ length: times }, () => ({
        account_id: account,
        what,
        id: newId(about, at),
        expires_at: at + periodMs,
      })),
    )
    .execute()
}

/**
 * Counts an attempt whether or not the operation succeeds. Call this outside the operation's
 * transaction, because a rollback must not undo the count.
 */
export const countTry = (
  { db, now }: { db: Kysely<Schema>; now: () => number },
  account: string,
  brake: Brake,
): Promise<void> => db.transaction().execute(async (trx) => countTryIn(trx, account, brake, now()))

function tooMany(message: string, waitMs: number): AppError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new AppError('rate_limited', `${message} Try again in ${seconds} s.`, {
    headers: { 'Retry-After': String(seconds) },
  })
}
