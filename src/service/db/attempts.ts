/** What an account may do only so often in a while, counted where all replicas see it. */
import type { Kysely, Transaction } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { lockAccount } from './locks.ts'
import type { Schema } from './schema.ts'

export interface Brake {
  readonly what: Schema['tries']['what']
  /** So many. */
  readonly most: number
  /** In so many milliseconds. */
  readonly periodMs: number
  /** What is told of it, before "Try again in …". */
  readonly told: string
}

/**
 * Count a try in a transaction: it counts as far as that is kept. Until it ends, others of the account wait.
 * @param about letters and digits: only tries about the same are counted together
 * @param times for so many tries at once, all or none
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
  // Of many at the same moment, exactly as many as may are let through.
  await lockAccount(trx, account)
  await trx
    .deleteFrom('tries')
    .where('account_id', '=', account)
    .where('what', '=', what)
    // Nor does one count that was made when the clock was far ahead: replicas differ by less than a period.
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

/** The same for a try that counts whatever becomes of it: not inside the caller's transaction, whose roll-back would give it back. */
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
