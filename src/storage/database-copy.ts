/**
 * Copies a database as it is at one moment while others continue to read and write it. A separate
 * connection begins a read transaction at that moment. The copy is made from its snapshot, in
 * small steps outside the event loop.
 */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, backup } from 'node:sqlite'

/** Pages to copy in one step, after which other users of the disk run. */
const PAGES_AT_ONCE = 1024
const BUSY_MS = 5000

export interface PinnedDatabase {
  /** `pragma user_version`. */
  readonly version: number
  /** Returns the single value of a query in the snapshot; undefined if it returns no row. */
  value(sql: string): unknown
  /**
   * Writes the snapshot to a new file of mode 0600.
   * @throws the errors of SQLite and node:fs
   */
  copyTo(path: string): Promise<void>
  /** Ends the snapshot. Until then the write-ahead log cannot be cleared of later changes. */
  close(): void
}

/**
 * Opens a snapshot of the committed content of a database in write-ahead mode.
 * @throws the errors of node:sqlite
 */
export function pinDatabase(path: string): PinnedDatabase {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
  const value = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0]
  try {
    // The first read begins the snapshot.
    db.exec('begin')
    const version = Number(value('pragma user_version'))
    value('select count(*) from sqlite_schema')
    return {
      version,
      value,
      async copyTo(target) {
        closeSync(openSync(target, 'wx', 0o600))
        await backup(db, target, { rate: PAGES_AT_ONCE })
      },
      close: () => db.close(),
    }
  } catch (cause) {
    db.close()
    throw cause
  }
}
