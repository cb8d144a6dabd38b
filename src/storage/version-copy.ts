/**
 * Before a database is brought to a newer version a complete copy of it is laid beside it, under the version that it has: without
 * one nothing is changed, and an older program that is started again finds the way back.
 */
import { closeSync, constants, fsyncSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { StartError } from '../errors.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { isDamage } from './database-file.ts'
import { isFull } from './sqlite.ts'

/** Copies of one database under the versions that it had. */
export interface VersionCopies {
  /**
   * Make the copy; one that an earlier attempt made is replaced.
   * @param version what the database has now
   * @returns the path of the copy
   * @throws StartError where it cannot be made, and what SQLite says of one that is damaged; the database is as it was
   */
  keep(version: number): string
  /** Remove the copies of all other versions, once the database has gone beyond this one. */
  keepOnly(version: number): void
  /** Remove all copies, because what was deleted since is not to be found any more. */
  forget(): void
  /** Where a copy lies for a program that knows versions up to `newest`: a sentence for its user, or nothing. */
  advice(newest: number): string
}

/** How the names of files end of which a copy is made. */
const UNFINISHED = ['.tmp', '.tmp-journal'] as const

function failed(path: string, copy: string, cause: unknown): StartError {
  const full = isFull(cause)
  return new StartError(
    'failed',
    `${path} is of an older version and is brought forward only after a copy of it was made, which failed: ${copy} cannot be written (${full ? 'the disk is full' : (cause as Error).message}). ` +
      `Nothing was changed. ${full ? `Make room for another ${basename(path)}` : 'Look after the disk and the folder'}, then start again.`,
    cause,
  )
}

/**
 * The copies of a database.
 * @param db open, and in no transaction when a copy is made
 */
export function versionCopies(db: DatabaseSync, path: string): VersionCopies {
  const folder = dirname(path)
  const copyOf = (version: number) => `${path}.v${version}.backup`
  /** The versions whose copies have names that the pattern knows. */
  const versionsLike = (pattern: RegExp) =>
    readdirSync(folder)
      .map((name) => pattern.exec(name))
      .filter((found) => found?.[1] === basename(path))
      .map((found) => Number(found?.[2]))
  /** The versions of which there is a copy. */
  const versions = () => versionsLike(/^(.+)\.v(\d+)\.backup$/)
  /** Those, and the ones of which a copy was begun. */
  const begun = () => versionsLike(/^(.+)\.v(\d+)\.backup(?:\.tmp(?:-journal)?)?$/)

  /** Also what a crash left of one that was being made. */
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
        // SQLite writes into a file that is there when it is empty, and makes one as open as the umask allows.
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
          // The first error says what is wrong with the disk.
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
