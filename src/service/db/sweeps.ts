/**
 * Sweeps: deletions of expired rows in the background. Requests start them. In each period one
 * replica sweeps, in batches, so that no statement locks many rows or runs for long.
 */
import { setImmediate } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import type { Background } from './background.ts'
import { takeLease } from './leases.ts'
import type { Schema } from './schema.ts'

/** How many rows one statement deletes, at most. */
const BATCH = 1000

interface Sweep {
  readonly name: Schema['leases']['name']
  /** The length of a period in milliseconds. */
  readonly everyMs: number
  /**
   * Deletes at most `most` rows that have expired. The statement must compare the time twice: where
   * it selects the rows, and where it deletes them, because a row may be renewed in between.
   * @param at Unix milliseconds
   */
  readonly batch: (at: number, most: number) => Promise<{ readonly numDeletedRows: bigint }>
}

/**
 * Returns a function that starts a sweep in the background, unless there was one in this period.
 * The lease is not ended after the sweep, so that no other replica sweeps in the same period.
 */
export function newSweep(
  of: { db: Kysely<Schema>; background: Background; now: () => number },
  { name, everyMs, batch }: Sweep,
): () => void {
  const { db, background, now } = of
  const owner = newId('', now())
  let swept = 0

  async function sweep(at: number): Promise<void> {
    if (!(await takeLease(db, { name, owner, ms: everyMs }, at))) return
    while ((await batch(at, BATCH)).numDeletedRows >= BATCH) await setImmediate()
  }

  return () => {
    const at = now()
    if (Math.abs(at - swept) < everyMs) return
    swept = at
    background.run(() => sweep(at))
  }
}
