/**
 * Values that are accepted once across all replicas, until they expire: proofs and assertions.
 */
import type { Kysely } from 'kysely'
import type { Background } from './background.ts'
import type { Schema } from './schema.ts'

const SWEEP_MS = 60_000

export interface SeenOnce {
  /**
   * Records a use. Returns whether it is the first.
   * @param id the used value, hashed, because a database does not accept every text
   * @param until when a repetition would be rejected for its age, Unix milliseconds
   */
  first(id: string, until: number): Promise<boolean>
}

export function newSeenOnce(of: {
  db: Kysely<Schema>
  background: Background
  now: () => number
}): SeenOnce {
  const { db, background, now } = of
  let swept = 0

  /** Deletes expired values in the background, at most once a minute. */
  function sweep(at: number): void {
    if (Math.abs(at - swept) < SWEEP_MS) return
    swept = at
    background.run(() => db.deleteFrom('seen_once').where('expires_at', '<=', at).execute())
  }

  return {
    async first(id, until) {
      const { numInsertedOrUpdatedRows: noted } = await db
        .insertInto('seen_once')
        .values({ id, expires_at: until })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow()
      sweep(now())
      return noted === 1n
    },
  }
}
