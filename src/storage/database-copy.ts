/**
 * Copies of a database: of one that is in use, for a backup; and of one that is migrated to a newer
 * version.
 */
import { closeSync, constants, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { StartError } from '../errors.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { isDamage } from './database-file.ts'
import { isFull } from './sqlite.ts'

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
 * Opens a snapshot of the committed content of a database in write-ahead mode, while others
 * continue to read and write it. A separate connection begins a read transaction at that moment.
 * The copy is made from its snapshot, in small steps outside the event loop.
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

/**
 * The copies of one database, by version. A copy is made before a migration to a newer version and
 * lies beside the database. Without a copy nothing is changed, and an older program that is started
 * again can name the copy to return to.
 */
export interface VersionCopies {
  /**
   * Makes the copy and replaces one of an earlier attempt.
   * @param version the current version of the database
   * @returns the path of the copy
   * @throws StartError if it cannot be made, and the error of SQLite for a damaged database;
   *   the database is unchanged
   */
  keep(version: number): string
  /**
   * Deletes the copies of all other versions, after the database was migrated beyond this one.
   */
  keepOnly(version: number): void
  /** Deletes all copies, so that rows deleted from the database cannot be recovered from them. */
  forget(): void
  /**
   * Returns a sentence that names a copy readable by versions up to `newest`, or an empty text.
   */
  advice(newest: number): string
}

/** The suffixes of the files that exist while a copy is made. */
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
 * @param db an open database, outside of a transaction when a copy is made
 */
export function versionCopies(db: DatabaseSync, path: string): VersionCopies {
  const folder = dirname(path)
  const copyOf = (version: number) => `${path}.v${version}.backup`
  /** Returns the versions of the copies with names that match the pattern. */
  const versionsLike = (pattern: RegExp) =>
    readdirSync(folder)
      .map((name) => pattern.exec(name))
      .filter((found) => found?.[1] === basename(path))
      .map((found) => Number(found?.[2]))
  /** Returns the versions that have a complete copy. */
  const versions = () => versionsLike(/^(.+)\.v(\d+)\.backup$/)
  /** Returns the versions that have a complete or an unfinished copy. */
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
        // SQLite writes into an existing file if it is empty, and otherwise creates one with the
        // mode that the umask allows.
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
          // The first error describes the fault of the disk.
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
