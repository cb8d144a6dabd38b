/** Copies databases: one that is in use, for a backup, and one that is about to be migrated. */
import { closeSync, constants, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { StartError } from '../errors.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { isDamage } from './database-file.ts'
import { isFull } from './sqlite.ts'

/** The number of pages copied in one step. Other users of the disk run between the steps. */
const PAGES_AT_ONCE = 1024
const BUSY_MS = 5000

export interface PinnedDatabase {
  /** The value of `pragma user_version`. */
  readonly version: number
  /** Returns the single value of a query in the snapshot; undefined if the query returns no row. */
  value(sql: string): unknown
  /**
   * Writes the snapshot to a new file of mode 0600.
   * @throws the errors of SQLite and node:fs
   */
  copyTo(path: string): Promise<void>
  /** Ends the snapshot. Until then, SQLite cannot remove later changes from the write-ahead log. */
  close(): void
}

/**
 * Opens a snapshot of a database in write-ahead mode. Others can continue to read and write it.
 *
 * A separate connection begins a read transaction now. The copy is made from its snapshot, in small
 * steps and outside the event loop.
 * @throws the errors of node:sqlite
 */
export function pinDatabase(path: string): PinnedDatabase {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
  const value = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0]
  try {
    // The snapshot begins with the first read.
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

/**
 * The copies of one database, by version.
 *
 * A copy is made before a migration to a newer version, and is stored in the same folder. If no
 * copy can be made, the database is not changed. An older program that is started again can name
 * the copy to restore.
 */
export interface VersionCopies {
  /**
   * Makes a copy, and replaces a copy that an earlier attempt made.
   * @param version the current version of the database
   * @returns the path of the copy
   * @throws StartError if the copy cannot be made, and SQLite's error for a damaged database; the
   * database is unchanged
   */
  keep(version: number): string
  /** Deletes the copies of all other versions. Call this after the migration. */
  keepOnly(version: number): void
  /** Deletes all copies, so that rows deleted from the database cannot be recovered from them. */
  forget(): void
  /**
   * Returns a sentence that names a copy with a version of at most `newest`; empty if there is
   * none.
   */
  advice(newest: number): string
}

/** The suffixes of the temporary files that exist while a copy is made. */
const UNFINISHED = ['.tmp', '.tmp-journal'] as const

function failed(path: string, copy: string, cause: unknown): StartError {
  const full = isFull(cause)
  return new StartError(
    'failed',
    `${path} has an older version and must be copied before it is migrated. The copy failed: ${copy} cannot be written (${full ? 'the disk is full' : (cause as Error).message}). ` +
      `Nothing was changed. ${full ? `Free enough space for another ${basename(path)}` : 'Check the disk and the folder'}, then start again.`,
    cause,
  )
}

/**
 * Returns the copies of a database.
 * @param db an open database, without an open transaction when a copy is made
 */
export function versionCopies(db: DatabaseSync, path: string): VersionCopies {
  const folder = dirname(path)
  const copyOf = (version: number) => `${path}.v${version}.backup`
  /** Returns the versions of the copies that match a pattern. */
  const versionsLike = (pattern: RegExp) =>
    readdirSync(folder)
      .map((name) => pattern.exec(name))
      .filter((found) => found?.[1] === basename(path))
      .map((found) => Number(found?.[2]))
  /** Returns the versions with a complete copy. */
  const versions = () => versionsLike(/^(.+)\.v(\d+)\.backup$/)
  /** Returns the versions with a complete or unfinished copy. */
  const begun = () => versionsLike(/^(.+)\.v(\d+)\.backup(?:\.tmp(?:-journal)?)?$/)

  /** Deletes copies, and the unfinished files that a crash left. */
  function remove(which: readonly number[]): void {
    if (which.length === 0) return
    for (const version of which)
      for (const suffix of ['', ...UNFINISHED]) rmSync(copyOf(version) + suffix, { force: true })
    syncFolder(folder)
  }

  return {
    keep(version) {
      const copy = copyOf(version)
      const temporary = copy + UNFINISHED[0]
      const removeTemporary = () => {
        for (const suffix of UNFINISHED) rmSync(copy + suffix, { force: true })
      }
      try {
        removeTemporary()
        // SQLite writes into an existing file if the file is empty. If it created the file itself,
        // the umask would determine the mode.
        closeSync(openSync(temporary, 'wx', 0o600))
        db.prepare('vacuum into ?').run(temporary)
        const file = openSync(temporary, constants.O_RDWR)
        try {
          fsyncSync(file)
        } finally {
          closeSync(file)
        }
        renameSync(temporary, copy)
        syncFolder(folder)
        return copy
      } catch (cause) {
        try {
          removeTemporary()
        } catch {
          // Throw the first error, because it describes the fault of the disk.
        }
        throw isDamage(cause) ? cause : failed(path, copy, cause)
      }
    },

    keepOnly(version) {
      remove(begun().filter((other) => other !== version))
    },

    forget: () => remove(begun()),

    advice(newest) {
      const known = versions().filter((version) => version <= newest)
      if (known.length === 0) return ''
      const found = Math.max(...known)
      return ` A copy of version ${found}, from before the migration, is ${join(folder, basename(copyOf(found)))}.`
    },
  }
}
