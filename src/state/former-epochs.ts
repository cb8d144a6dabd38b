/** The epochs before routine rotations. The vault keeps their code keys for a while. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

export interface FormerEpochRow {
  readonly connection: string
  readonly epoch: number
  /** The ids of the accounts that were members in that epoch. */
  readonly speakers: readonly string[]
  /** When the epoch ended for this device, Unix milliseconds. */
  readonly kept_at: number
}

export type FormerEpochRows = ReturnType<typeof formerEpochRows>

/** The shortest time between two writes of the latest time seen, in milliseconds. */
const LOOK_MS = 60_000

/** Returns the statements for the rows of previous epochs. */
export function formerEpochRows(db: DatabaseSync) {
  type Stored = Omit<FormerEpochRow, 'speakers'> & { readonly speakers: string }
  const put = statement(
    db,
    `insert into former_epochs (connection, epoch, speakers, kept_at, looked_at)
       values (?, ?, ?, ?, ?)
     on conflict do update set epoch = excluded.epoch, speakers = excluded.speakers,
       kept_at = excluded.kept_at, looked_at = excluded.looked_at`,
  )
  const get = statement<Stored>(
    db,
    'select connection, epoch, speakers, kept_at from former_epochs where connection = ?',
  )
  const all = statement<{ connection: string }>(
    db,
    'select connection from former_epochs order by connection',
  )
  const over = statement<{ connection: string }>(
    db,
    `select connection from former_epochs left join connections on id = connection
     where kept_at <= ? or looked_at > ? or id is null
       or connections.epoch > former_epochs.epoch + 1`,
  )
  const look = statement(db, 'update former_epochs set looked_at = ? where looked_at < ?')
  const remove = statement(db, 'delete from former_epochs where connection = ?')
  const idsOf = (rows: readonly { connection: string }[]) => rows.map((row) => row.connection)
  return {
    /** Stores or replaces the previous epoch of a connection. */
    put({ connection, epoch, speakers, kept_at: at }: FormerEpochRow): void {
      put.run(connection, epoch, JSON.stringify(speakers), at, at)
    },
    get(connection: string): FormerEpochRow | null {
      const row = get.get(connection)
      return row && { ...row, speakers: JSON.parse(row.speakers) as string[] }
    },
    /** Returns the ids of the connections that have a previous epoch. */
    ids: (): string[] => idsOf(all.all()),
    /**
     * Returns the ids of the connections with an expired previous epoch. It expired if it was
     * kept at or before `keptUntil`, was last looked at after `lookedAfter`, or is not followed
     * by the current epoch of the connection.
     */
    over: (keptUntil: number, lookedAfter: number): string[] =>
      idsOf(over.all(keptUntil, lookedAfter)),
    /** Stores the time of a look; an earlier time than the stored one changes nothing. */
    look(at: number): void {
      look.run(at, at - LOOK_MS)
    },
    delete(connection: string): void {
      remove.run(connection)
    },
  }
}
