/**
 * What was done under an Idempotency-Key, at the account server: the act and the record of its answer are one transaction, so
 * that whatever ends the program leaves both or neither, and every replica sees the same.
 */
import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import { AppError, statusOf } from '../../errors.ts'
import {
  KEPT_MS,
  type Keyed,
  type Once,
  inProgress,
  mismatch,
  newAct,
} from '../../storage/idempotency.ts'
import type { Background } from './background.ts'
import type { Engine } from './engine.ts'
import type { ReceiptKey } from './receipt-key.ts'
import type { Schema } from './schema.ts'

/** How often what is too old is cleared away. */
const SWEEP_MS = 600_000

/** A name of 64 bits for a key and whose it is. */
const nameOf = ({ caller, key }: Keyed): bigint =>
  createHash('sha256')
    .update(JSON.stringify([caller, key]))
    .digest()
    .readBigInt64BE()

/**
 * Acts under a key, over the database of the account server.
 *
 * A refusal is not kept, so that it can be mended and sent again under the same key; what the answer had written for good
 * before it refused (a counted try, the evidence of a fork) stays, as it does without a key. After any other failure nothing stays.
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
        .where('at', '<=', at - KEPT_MS)
        .execute(),
    )
  }

  /** The answer; null for a refusal, which is left in `told`. */
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
    if (known !== undefined && known.at > at - KEPT_MS) {
      if (known.fingerprint !== fingerprint) throw mismatch()
      return JSON.parse(known.answer) as A
    }
    try {
      const answer = await work()
      const kept = { fingerprint, answer: JSON.stringify(answer), at }
      await db
        .insertInto('idempotency')
        .values({ caller, key, ...kept })
        // One that is too old and was not cleared away yet.
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
    // On SQLite the second would wait for the first, and in a pool take one of few connections to learn the same.
    if (running.has(name)) throw inProgress()
    running.add(name)
    const told: { refusal?: AppError } = {}
    try {
      // What is made once and kept in memory is made before: inside the transaction it could be undone, or wait for itself.
      await receiptKey()
      const act = newAct(now())
      const answer = await engine.atomically(db, () => attempt(keyed, () => work(act), told))
      if (answer === null) throw told.refusal
      return answer
    } catch (error) {
      // PostgreSQL keeps nothing where the refusal came of a query that failed by itself; it is no less a refusal.
      throw told.refusal ?? error
    } finally {
      running.delete(name)
      sweep(now())
    }
  }
}
