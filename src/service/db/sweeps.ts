/**
 * Sweeps: work on rows that have reached an age, in the background; most sweeps delete expired
 * rows. In each period one replica sweeps, in batches, so that no statement locks many rows or runs
 * for long.
 */
import { setImmediate } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import { countedJob } from '../../metrics/jobs.ts'
import type { Background } from './background.ts'
import { takeLease } from './leases.ts'
import { newRunner } from './runner.ts'
import type { Schema } from './schema.ts'

/** How many rows one statement deletes or changes, at most. */
const BATCH = 1000
/** How long after the start, so that a start writes nothing and the first requests do not wait. */
const FIRST_MS = 30_000

/**
 * Deletes or changes at most `most` rows. Returns their number, or the result of a deletion. If
 * rows may be renewed, the statement must compare the time twice: where it selects the rows, and
 * where it deletes them.
 * @param at Unix milliseconds
 */
type Batch = (at: number, most: number) => Promise<number | { readonly numDeletedRows: bigint }>

const countOf = (done: Awaited<ReturnType<Batch>>): number =>
  typeof done === 'number' ? done : Number(done.numDeletedRows)

interface Sweep {
  readonly name: Schema['leases']['name']
  /** The length of a period in milliseconds. */
  readonly everyMs: number
  /** The work on one table. Several run one after the other, also after a failure. */
  readonly batch: Batch | readonly Batch[]
}

interface SweepContext {
  readonly db: Kysely<Schema>
  readonly background: Background
  readonly now: () => number
  /** Ends a sweep after its batch, when the server shuts down. */
  readonly signal?: AbortSignal
}

/**
 * Returns a function that sweeps, unless another replica did so in this period. The lease is not
 * ended after the sweep, so that no other replica sweeps in the same period.
 */
function sweepOf(
  { db, now, signal }: SweepContext,
  { name, everyMs, batch }: Sweep,
): (at: number) => Promise<void> {
  const owner = newId('', now())
  async function sweep(at: number): Promise<void> {
    const failures: unknown[] = []
    for (const one of [batch].flat())
      try {
        while (countOf(await one(at, BATCH)) >= BATCH) {
          await setImmediate()
          if (signal?.aborted) return
        }
      } catch (error) {
        failures.push(error)
      }
    if (failures.length > 0) throw failures[0]
  }
  return async (at) => {
    if (await takeLease(db, { name, owner, ms: everyMs }, at))
      await countedJob(name, () => sweep(at))
  }
}

/** Returns a function that starts a sweep in the background, at most once in each period. */
export function newSweep(of: SweepContext, work: Sweep): () => void {
  const { background, now } = of
  const sweep = sweepOf(of, work)
  let swept = 0
  return () => {
    const at = now()
    if (Math.abs(at - swept) < work.everyMs) return
    swept = at
    background.run(() => sweep(at))
  }
}

/**
 * Sweeps some time after the start and then in each period, until the server shuts down.
 * @param firstMs when it begins, in milliseconds
 */
export function startSweep(
  of: SweepContext & { readonly signal: AbortSignal },
  work: Sweep,
  firstMs = FIRST_MS,
): void {
  const { background, now, signal } = of
  const { everyMs } = work
  const sweep = sweepOf(of, work)
  const runner = newRunner({
    background,
    signal,
    retryMs: everyMs,
    // The timer alone decides when a period has passed: by the clock, it may fire too early.
    work: async () => {
      await sweep(now())
      runner.wakeIn(everyMs)
    },
  })
  runner.wakeIn(firstMs)
}
