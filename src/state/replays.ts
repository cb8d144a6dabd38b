/**
 * The words that verified once, and the highest window recorded. A code is accepted one time.
 * @see RFC 6238 section 5.2
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement, transaction } from '../storage/sqlite.ts'

export interface ReplayKey {
  /** The id of a connection or guest code. */
  readonly subject: string
  readonly epoch: number
  readonly speaker: string
  readonly window: number
}

export type ReplayRows = ReturnType<typeof replayRows>

/** Returns the statements for the replay rows. */
export function replayRows(db: DatabaseSync) {
  const first = statement<{ first_at: number }>(
    db,
    `select first_at from replays
     where subject = ? and epoch = ? and speaker = ? and "window" = ?`,
  )
  const insert = statement(
    db,
    'insert into replays (subject, epoch, speaker, "window", first_at) values (?, ?, ?, ?, ?)',
  )
  const raise = statement(
    db,
    `insert into replays_highest values (1, ?)
     on conflict do update set "window" = max("window", excluded."window")`,
  )
  const highest = statement<{ window: number }>(db, 'select "window" from replays_highest')
  const prune = statement(db, 'delete from replays where "window" < ?')
  return {
    /**
     * Records the first use and returns null, or returns the time of the first use. The record is
     * on disk before this returns.
     */
    firstUse: (key: ReplayKey, at: number): number | null =>
      transaction(db, () => {
        const { subject, epoch, speaker, window } = key
        const known = first.get(subject, epoch, speaker, window)
        if (known !== null) return known.first_at
        insert.run(subject, epoch, speaker, window, at)
        raise.run(window)
        return null
      }),
    /** Returns the highest window ever recorded, 0 at first; pruning does not lower it. */
    highest: (): number => highest.get()?.window ?? 0,
    /** Deletes the uses in windows below this one; returns how many. */
    prune: (belowWindow: number): number => prune.run(belowWindow),
  }
}
