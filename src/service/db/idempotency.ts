/**
 * Idempotency-Key support of the account server. One transaction stores the operation and the
 * record of its answer, so that a crash leaves both or neither, and every replica sees the same.
 */
import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { AppError, statusOf } from '../../errors.ts'
import {
  OPERATION_KEPT_MS,
  type Keyed,
  type Once,
  inProgress,
  mismatch,
  newAct,
} from '../../storage/idempotency.ts'
import type { Background } from './background.ts'
import type { Engine } from './engine.ts'
import type { ReceiptKey } from './server-secrets.ts'
import type { Schema } from './schema.ts'

/** How often old records are deleted. */
const SWEEP_MS = 600_000

/** Returns a 64-bit name for a key and its caller. */
const nameOf = ({ caller, key }: Keyed): bigint =>
  createHash('sha256')
    .update(JSON.stringify([caller, key]))
    .digest()
    .readBigInt64BE()

/**
 * Returns a function that runs operations under a key, over the account server's database.
 *
 * A refusal is not stored, so that the caller can correct the request and send it again under the
 * same key. What the operation wrote permanently before it refused (a counted attempt, the
 * evidence of a fork) stays, as it does without a key. Any other failure is rolled back.
 */
export function onceOver(of: {
  engine: Engine
  db: Kysely<Schema>
  receiptKey: () => Promise<ReceiptKey>
  background: Background
  now: () => number
}): Once {
  const { engine, db, receiptKey, background, now } = of
  const running = new Set<bigint>()
  let swept = 0

  function sweep(at: number): void {
    if (Math.abs(at - swept) < SWEEP_MS) return
    swept = at
    background.run(() =>
      db
        .deleteFrom('idempotency')
        .where('at', '<=', at - OPERATION_KEPT_MS)
        .execute(),
    )
  }

  /** Returns the answer; null for a refusal, which is stored in `told`. */
  async function attempt<A extends object>(
    keyed: Keyed,
    work: () => Promise<A>,
    told: { refusal?: AppError },
  ): Promise<A | null> {
    const { caller, key, fingerprint } = keyed
    const at = now()
    if (!(await engine.claim(db, nameOf(keyed)))) throw inProgress()
    const known = await db
      .selectFrom('idempotency')
      .select(['fingerprint', 'answer', 'at'])
      .where('caller', '=', caller)
      .where('key', '=', key)
      .executeTakeFirst()
    if (known !== undefined && known.at > at - OPERATION_KEPT_MS) {
      if (known.fingerprint !== fingerprint) throw mismatch()
      return JSON.parse(known.answer) as A
    }
    try {
      const answer = await work()
      const kept = { fingerprint, answer: JSON.stringify(answer), at }
      await db
        .insertInto('idempotency')
        .values({ caller, key, ...kept })
        // Replaces a record that is too old and was not deleted yet.
        .onConflict((conflict) => conflict.columns(['caller', 'key']).doUpdateSet(kept))
        .execute()
      return answer
    } catch (error) {
      if (!(error instanceof AppError && statusOf(error.code) < 500)) throw error
      told.refusal = error
      return null
    }
  }

  return async (keyed, work) => {
    const name = nameOf(keyed)
    // On SQLite the second would wait for the first. With a pool it would occupy one of few
    // connections for the same result.
    if (running.has(name)) throw inProgress()
    running.add(name)
    const told: { refusal?: AppError } = {}
    try {
      // The receipt key is made once and cached, so it is made before the transaction. Inside it
      // could be rolled back, or deadlock with itself.
      await receiptKey()
      const act = newAct(now())
      const answer = await engine.atomically(db, () => attempt(keyed, () => work(act), told))
      if (answer === null) throw told.refusal
      return answer
    } catch (error) {
      // PostgreSQL aborts the transaction if the refusal came from a failed query. The caller
      // still gets the refusal.
      throw told.refusal ?? error
    } finally {
      running.delete(name)
      sweep(now())
    }
  }
}
