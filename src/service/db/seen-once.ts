/**
 * Records used assertions until they expire. So each is accepted only once, across all replicas.
 * Used proofs have a table of their own (`proof-epochs.ts`).
 */
import type { Kysely } from 'kysely'
import type { Background } from './background.ts'
import type { Schema } from './schema.ts'
import { newSweep } from './sweeps.ts'

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
  /** Deletes expired values in the background, at most once a minute. */
  sweep(): void
}

export function newSeenOnce(of: {
  db: Kysely<Schema>
  background: Background
  now: () => number
}): SeenOnce {
  const { db } = of
  const sweep = newSweep(of, {
    name: 'sweep of used assertions',
    everyMs: SWEEP_MS,
    batch: (at, most) =>
      db
        .deleteFrom('seen_once')
        .where('expires_at', '<=', at)
        .where('id', 'in', (query) =>
          query.selectFrom('seen_once').select('id').where('expires_at', '<=', at).limit(most),
        )
        .executeTakeFirstOrThrow(),
  })

  return {
    sweep,

    async first(id, until) {
      const { numInsertedOrUpdatedRows: noted } = await db
        .insertInto('seen_once')
        .values({ id, expires_at: until })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow()
      sweep()
      return noted === 1n
    },
  }
}
