/**
 * Limits how many writes a device or an account can make per minute, across all replicas. A replica
 * reserves a block of 100 writes in the database and counts the writes of the block in memory, so
 * that most writes need no query.
 */
import { hash } from 'node:crypto'
import { AppError } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'

const MINUTE_MS = 60_000
const BLOCK = 100

/** The writes of a device or account in the current minute, as this replica has counted them. */
interface Allowance {
  left: number
  /** The number of the first block that may still be free. */
  next: number
  taking: Promise<void> | null
}

export interface WriteAllowance {
  /**
   * Counts a write.
   * @param subject the id of a device, a token or an account
   * @param most the limit per minute. It must be a multiple of 100, and always the same for one
   *   subject.
   * @throws AppError `rate_limited`, with Retry-After, if the limit is exceeded
   */
  take(subject: string, most: number): Promise<void>
}

function tooMany(at: number, most: number): AppError {
  const seconds = Math.ceil((MINUTE_MS - (at % MINUTE_MS)) / 1000)
  return new AppError(
    'rate_limited',
    `Too many writes. The limit is ${most} a minute. Try again in ${seconds} s.`,
    { headers: { 'Retry-After': String(seconds) } },
  )
}

export function newWriteAllowance({ db, now }: Pick<ServiceContext, 'db' | 'now'>): WriteAllowance {
  let present = 0
  const subjects = new Map<string, Allowance>()

  function allowanceIn(minute: number, subject: string): Allowance {
    if (minute !== present) {
      subjects.clear()
      present = minute
    }
    let allowance = subjects.get(subject)
    if (allowance === undefined)
      subjects.set(subject, (allowance = { left: 0, next: 0, taking: null }))
    return allowance
  }

  async function takeBlock(
    allowance: Allowance,
    { subject, most, minute }: { subject: string; most: number; minute: number },
  ): Promise<void> {
    // The row contains a hash of the subject, because it may exist after the account was deleted
    // and must not name it.
    const hashed = hash('sha256', subject, 'hex')
    while (allowance.next * BLOCK < most) {
      const id = `writes ${hashed} ${minute} ${allowance.next++}`
      const { numInsertedOrUpdatedRows: made } = await db
        .insertInto('seen_once')
        .values({ id, expires_at: (minute + 1) * MINUTE_MS })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow()
      if (made !== 1n) continue
      allowance.left += BLOCK
      return
    }
  }

  return {
    async take(subject, most) {
      for (;;) {
        const at = now()
        const minute = Math.floor(at / MINUTE_MS)
        const allowance = allowanceIn(minute, subject)
        if (allowance.left > 0) {
          allowance.left--
          return
        }
        if (allowance.taking === null && allowance.next * BLOCK >= most) throw tooMany(at, most)
        allowance.taking ??= takeBlock(allowance, { subject, most, minute }).finally(() => {
          allowance.taking = null
        })
        await allowance.taking
      }
    },
  }
}
