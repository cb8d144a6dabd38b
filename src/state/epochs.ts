/** The times at which this device first saw the current epoch of each connection. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export interface EpochRow {
  readonly connection: string
  readonly epoch: number
  /** Unix milliseconds, by the clock of this device. */
  readonly seen_at: number
}

export type EpochRows = ReturnType<typeof epochRows>

/** Returns the statements for the rows of epochs. */
export function epochRows(db: DatabaseSync) {
  const note = statement(
    db,
    `insert into epochs (connection, epoch, seen_at)
       select id, connections.epoch, ? from connections
       left join epochs on epochs.connection = id
       where epochs.epoch is not connections.epoch
     on conflict do update set epoch = excluded.epoch, seen_at = excluded.seen_at`,
  )
  const drop = statement(
    db,
    'delete from epochs where connection not in (select id from connections)',
  )
  const until = statement<EpochRow>(db, 'select * from epochs where seen_at <= ? order by seen_at')
  return {
    /** Stores the epochs that are new since the last call, as first seen at a time. */
    note(at: number): void {
      note.run(at)
      drop.run()
    },
    /** Returns the epochs that were first seen at or before a time, oldest first. */
    seenUntil: (at: number): EpochRow[] => until.all(at),
  }
}
