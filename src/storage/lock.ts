/**
 * The one lock of a state folder. Its holder is the only writer. The kernel frees it at any death of the process.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StartError } from '../errors.ts'
import { openFolder } from './folder.ts'
import { readRuntime } from './runtime-file.ts'
import { isDiskFault, isResult } from './sqlite.ts'

export interface Lock {
  /** Gives the lock back; a second call does nothing. */
  release(): void
}

/** Which file has a name now; null where none has. */
const fileAt = (path: string): bigint | null =>
  statSync(path, { bigint: true, throwIfNoEntry: false })?.ino ?? null

/** Takes the lock of a state folder, or answers null at once when another process, or this one, has it. */
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
    // Whoever empties the folder takes the lock's file away: who has waited for that one has nothing.
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
        `Nothing can be written to the state folder ${dir} (${(cause as Error).message}). Check its permissions, and whether its disk is full, failing or read-only.`,
        cause,
      )
    throw new StartError(
      'failed',
      `The lock ${path} cannot be used (${(cause as Error).message}). It holds no data: stop any countersignd and delete it.`,
      cause,
    )
  }
}

/** Take the lock of a state folder. Throws StartError: stateInUse, and as `openFolder` does. */
export function takeLock(dir: string): Lock {
  openFolder(dir)
  const lock = lockState(dir)
  if (lock !== null) return lock
  const address = readRuntime(dir)?.address
  throw new StartError(
    'stateInUse',
    `The state folder ${dir} is in use by another countersignd${address ? ` at ${address}` : ''}. Stop it, or set SVC_STATE_DIR to another folder.`,
  )
}
