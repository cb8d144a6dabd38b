/**
 * How many writes an account may make in a minute, over all replicas. A replica takes blocks of them
 * from the database and counts the writes of a block in memory, so that one write of many pays for a
 * query.
 */
import { hash } from 'node:crypto'
import { AppError } from '../errors.ts'
import type { Ground } from './ground.ts'

const MINUTE_MS = 60_000
const BLOCK = 100
const BLOCKS = 30
export const MOST_WRITES = BLOCK * BLOCKS

/** What this replica holds for an account in the present minute. */
interface Held {
  left: number
  /** The first block that may be free. */
  next: number
  taking: Promise<void> | null
}

export interface WriteAllowance {
  /**
   * Counts a write of an account.
   * @throws AppError `rate_limited`, with Retry-After, where the account has made 3,000 in this minute
   */
  take(account: string): Promise<void>
}

function tooMany(at: number): AppError {
  const seconds = Math.ceil((MINUTE_MS - (at % MINUTE_MS)) / 1000)
  return new AppError(
    'rate_limited',
    `Too many writes: an account may make ${MOST_WRITES} a minute. Try again in ${seconds} s.`,
    { headers: { 'Retry-After': String(seconds) } },
  )
}

export function newWriteAllowance({ db, now }: Pick<Ground, 'db' | 'now'>): WriteAllowance {
  let present = 0
  const accounts = new Map<string, Held>()

  function heldIn(minute: number, account: string): Held {
    if (minute !== present) {
      accounts.clear()
      present = minute
    }
    let held = accounts.get(account)
    if (held === undefined) accounts.set(account, (held = { left: 0, next: 0, taking: null }))
    return held
  }

  async function takeBlock(held: Held, account: string, minute: number): Promise<void> {
    // A hash: the row may outlive an account that is deleted meanwhile, and must not name it.
    const subject = hash('sha256', account, 'hex')
    while (held.next < BLOCKS) {
      const id = `writes ${subject} ${minute} ${held.next++}`
      const { numInsertedOrUpdatedRows: made } = await db
        .insertInto('seen_once')
        .values({ id, expires_at: (minute + 1) * MINUTE_MS })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow()
      if (made !== 1n) continue
      held.left += BLOCK
      return
    }
  }

  return {
    async take(account) {
      for (;;) {
        const at = now()
        const minute = Math.floor(at / MINUTE_MS)
        const held = heldIn(minute, account)
        if (held.left > 0) {
          held.left--
          return
        }
        if (held.taking === null && held.next >= BLOCKS) throw tooMany(at)
        held.taking ??= takeBlock(held, account, minute).finally(() => {
          held.taking = null
        })
        await held.taking
      }
    },
  }
}
