/**
 * A rate limit of an account for one kind of attempt, counted in the database for all replicas.
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
  readonly told: string
}

/**
 * Counts an attempt in a transaction; the count stays only if it commits. Until then, other
 * attempts of the account wait.
 * @param about letters and digits: only attempts with the same value are counted together
 * @param times counts this many attempts at once, all or none
 * @throws AppError `rate_limited`, with Retry-After, while there were too many
 */
export async function countTryIn(
  trx: Transaction<Schema>,
  account: string,
  { what, most, periodMs, told }: Brake,
  at: number,
  about = '',
  times = 1,
): Promise<void> {
  // The lock makes the limit exact for concurrent requests.
  await lockAccount(trx, account)
  await trx
    .deleteFrom('tries')
    .where('account_id', '=', account)
    .where('what', '=', what)
    // Also deletes attempts made while the clock was far ahead: replicas differ by less than a
    // period.
    .where((of) => of.or([of('expires_at', '<=', at), of('expires_at', '>', at + 2 * periodMs)]))
    .execute()
  const { count, first } = await trx
    .selectFrom('tries')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('expires_at').as('first')])
    .where('account_id', '=', account)
    .where('what', '=', what)
    .where('id', 'like', `${about}%`)
    .executeTakeFirstOrThrow()
  if (Number(count) + times > most) throw tooMany(told, (first ?? at) - at)
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
 * Counts an attempt whether or not the operation succeeds. Runs outside the caller's transaction,
 * because a rollback must not undo the count.
 */
export const countTry = (
  { db, now }: { db: Kysely<Schema>; now: () => number },
  account: string,
  brake: Brake,
): Promise<void> => db.transaction().execute(async (trx) => countTryIn(trx, account, brake, now()))

function tooMany(told: string, waitMs: number): AppError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new AppError('rate_limited', `${told} Try again in ${seconds} s.`, {
    headers: { 'Retry-After': String(seconds) },
  })
}
