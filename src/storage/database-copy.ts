/**
 * A database as it is at one moment, copied afterwards, while others go on reading and writing it. A connection of its own begins to
 * read at that moment and keeps what it sees; the copy is made of that bit by bit, beside the event loop.
 */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, backup } from 'node:sqlite'

/** So many pages are copied before anybody else who waits for the disk has a turn. */
const PAGES_AT_ONCE = 1024
const BUSY_MS = 5000

export interface PinnedDatabase {
  /** `pragma user_version`. */
  readonly version: number
  /** The one value of a query, as of that moment; undefined where it has no row. */
  value(sql: string): unknown
  /** Write it to a new file of mode 0600. Throws what SQLite and node:fs throw. */
  copyTo(path: string): Promise<void>
  /** Let go of the moment: until then the write-ahead log cannot be cleared of what came later. */
  close(): void
}

/** Take a database in write-ahead mode as it is now, without what others have not committed. Throws what node:sqlite throws. */
export function pinDatabase(path: string): PinnedDatabase {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
  const value = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0]
  try {
    // The first read is what takes the moment.
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
