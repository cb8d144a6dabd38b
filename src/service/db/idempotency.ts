/**
 * The account server's support for Idempotency-Key. One transaction stores the operation's changes
 * and its answer, so that a crash keeps both or neither, and all replicas see the same.
 */
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
import { compiledOnce } from './compiled.ts'
import type { Engine } from './engine.ts'
import type { ReceiptKey } from './server-secrets.ts'
import type { Schema } from './schema.ts'
import { newSweep } from './sweeps.ts'

/** How often old records are deleted, in milliseconds. */
const SWEEP_MS = 600_000

const nameOf = ({ caller, key }: Keyed): string => JSON.stringify([caller, key])

/**
 * Inserts the record of an operation, without its answer, or replaces a record that is too old but
 * has not been deleted yet. Returns no row if there is a record. If another transaction is
 * inserting one, PostgreSQL waits for its end. No other transaction sees a record without an
 * answer.
 */
const claim = compiledOnce(
  (db, { tooOld, ...record }: Schema['idempotency'] & { readonly tooOld: number }) =>
    db
      .insertInto('idempotency')
      .values(record)
      .onConflict((conflict) =>
        conflict
          .columns(['caller', 'key'])
          .doUpdateSet(record)
          .where('idempotency.at', '<=', tooOld),
      )
      .returning('at'),
)

const readRecord = compiledOnce((db, { caller, key }: { caller: string; key: string }) =>
  db
    .selectFrom('idempotency')
    .select(['fingerprint', 'answer'])
    .where('caller', '=', caller)
    .where('key', '=', key),
)

/** Stores a record with its answer, also if the operation deleted the records of its caller. */
const storeRecord = compiledOnce((db, record: Schema['idempotency']) =>
  db
    .insertInto('idempotency')
    .values(record)
    .onConflict((conflict) =>
      conflict.columns(['caller', 'key']).doUpdateSet({ answer: record.answer }),
    ),
)

/**
 * Returns a function that runs operations under an Idempotency-Key.
 *
 * A refusal (an error with a status below 500) is not stored, so that the caller can correct the
 * request and send it again under the same key. But what the operation committed before the
 * refusal, such as a counted attempt, is kept, as it is without a key. After any other failure
 * everything is rolled back.
 */
export function onceOver(of: {
  engine: Engine
  db: Kysely<Schema>
  receiptKey: () => Promise<ReceiptKey>
  background: Background
  now: () => number
}): Once {
  const { engine, db, receiptKey, now } = of
  const running = new Set<string>()
  const sweep = newSweep(of, {
    name: 'sweep of idempotent operations',
    everyMs: SWEEP_MS,
    batch: (at, most) =>
      db
        .deleteFrom('idempotency')
        .where('at', '<=', at - OPERATION_KEPT_MS)
        .where((of) =>
          of(
            of.refTuple('caller', 'key'),
            'in',
            of
              .selectFrom('idempotency')
              .select(['caller', 'key'])
              .where('at', '<=', at - OPERATION_KEPT_MS)
              .limit(most)
              .$asTuple('caller', 'key'),
          ),
        )
        .executeTakeFirstOrThrow(),
  })

  /**
   * Runs `work`, or returns the stored answer. Returns null after a refusal, which is put into
   * `outcome`.
   */
  async function attempt<A extends object>(
    keyed: Keyed,
    work: () => Promise<A>,
    outcome: { refusal?: AppError },
  ): Promise<A | null> {
    const { caller, key, fingerprint } = keyed
    const at = now()
    const record = { caller, key, fingerprint, answer: '', at }
    const tooOld = at - OPERATION_KEPT_MS
    const claimed = await engine.claim(db, () => claim(db, { ...record, tooOld }))
    if (claimed === null) throw inProgress()
    if (claimed.length === 0) {
      const [known] = await readRecord(db, { caller, key })
      // It was deleted in this moment, with its account.
      if (known === undefined) throw inProgress()
      if (known.fingerprint !== fingerprint) throw mismatch()
      return JSON.parse(known.answer) as A
    }
    try {
      const answer = await work()
      await storeRecord(db, { ...record, answer: JSON.stringify(answer) })
      return answer
    } catch (error) {
      if (!(error instanceof AppError && statusOf(error.code) < 500)) throw error
      outcome.refusal = error
      await db
        .deleteFrom('idempotency')
        .where('caller', '=', caller)
        .where('key', '=', key)
        .execute()
      return null
    }
  }

  return async (keyed, work) => {
    const name = nameOf(keyed)
    // A second request with the same key is rejected here. On SQLite it would wait for the first,
    // and on PostgreSQL it would occupy a connection only to be rejected.
    if (running.has(name)) throw inProgress()
    running.add(name)
    const outcome: { refusal?: AppError } = {}
    try {
      // The receipt key is created once and cached, so it must exist before the transaction begins.
      // If it were created inside the transaction, a rollback would remove it, or its creation
      // could deadlock.
      await receiptKey()
      const act = newAct(now())
      const answer = await engine.atomically(db, () => {
        // The transaction may be repeated.
        delete outcome.refusal
        return attempt(keyed, () => work(act), outcome)
      })
      if (answer === null) throw outcome.refusal
      return answer
    } catch (error) {
      // If the refusal was caused by a failed query, PostgreSQL has aborted the transaction and the
      // commit fails. The caller still gets the refusal.
      throw outcome.refusal ?? error
    } finally {
      running.delete(name)
      sweep()
    }
  }
}
