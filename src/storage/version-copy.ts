/**
 * Copies a database before it is migrated to a newer version. The copy lies beside it and is
 * named by the version that it has. Without a copy nothing is changed, and an older program that
 * is started again can name the copy to return to.
 */
import { closeSync, constants, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StartError } from '../errors.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { isDamage } from './database-file.ts'
import { isFull } from './sqlite.ts'

/** The copies of one database, by version. */
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
    `${path} is of an older version and is brought forward only after a copy of it was made, which failed: ${copy} cannot be written (${full ? 'the disk is full' : (cause as Error).message}). ` +
      `Nothing was changed. ${full ? `Make room for another ${basename(path)}` : 'Check the disk and the folder'}, then start again.`,
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
      return ` A copy of version ${found}, from before it was brought forward, is ${join(folder, basename(copyOf(found)))}.`
    },
  }
}
