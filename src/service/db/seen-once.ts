/**
 * Records used proofs and assertions until they expire. So each is accepted only once, across all
 * replicas.
 */
import type { Kysely } from 'kysely'
import type { Background } from './background.ts'
import type { Schema } from './schema.ts'

const SWEEP_MS = 60_000

export interface SeenOnce {
  /**
   * Records that a value was used. Returns whether this is its first use.
   * @param id a hash of the used value. The value itself is not stored, because a database does not
   *   accept every text.
   * @param until how long to remember the value, Unix milliseconds. After that, a repetition must
   *   be rejected because of its age.
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
