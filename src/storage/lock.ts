/**
 * The lock of a state folder. Only its owner may write in the folder.
 *
 * The kernel releases the lock when the process ends, however it ends.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartError } from '../errors.ts'
import { openFolder } from './folder.ts'
import { placesText, readRuntime } from './runtime-file.ts'
import { isDiskFault, isResult } from './sqlite.ts'

export interface Lock {
  /** Releases the lock. A second call does nothing. */
  release(): void
}

/** Returns the inode of the file at a path; null if there is no file. */
const fileAt = (path: string): bigint | null =>
  statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? null

/**
 * Acquires the lock of a state folder.
 *
 * Returns null immediately if any process, even this one, already owns the lock.
 */
export function lockState(dir: string): Lock | null {
  const path = join(dir, 'lock.db')
  try {
    const before = fileAt(path)
    const db = new DatabaseSync(path, { timeout: 0 })
    try {
      db.exec('pragma locking_mode = exclusive; begin immediate')
    } catch (cause) {
      db.close()
      throw cause
    }
    // A removal deletes the lock file. A process that had opened the deleted file would lock
    // nothing that other processes can see.
    if (before !== null && fileAt(path) !== before) {
      db.close()
      return null
    }
    return {
      release() {
        if (db.isOpen) db.close()
      },
    }
  } catch (cause) {
    if (isResult(cause, 'busy')) return null
    if (isDiskFault(cause))
      throw new StartError(
        'failed',
        `Cannot write to the state folder ${dir} (${(cause as Error).message}). Check its permissions, and whether its disk is full, failing or read-only.`,
        cause,
      )
    throw new StartError(
      'failed',
      `The lock ${path} cannot be used (${(cause as Error).message}). It contains no data. Stop any countersignd and delete it.`,
      cause,
    )
  }
}

/**
 * Acquires the lock of a state folder.
 * @throws StartError: `stateInUse`, and as `openFolder`
 */
export function takeLock(dir: string): Lock {
  openFolder(dir)
  const lock = lockState(dir)
  if (lock !== null) return lock
  const run = readRuntime(dir)
  throw new StartError(
    'stateInUse',
    `The state folder ${dir} is in use by another countersignd${run === null ? '' : ` at ${placesText(run)}`}. Stop it, or set SVC_STATE_DIR to another folder.`,
  )
}
