/**
 * `state.db`: opened, checked and brought to this program's version. What a newer program has written is not touched.
 */
import { renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError, StartError } from '../errors.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { isResult, transaction } from './sqlite.ts'
import { VERSIONS } from './versions.ts'

const BUSY_MS = 5000
/** The smallest page of SQLite. It takes a shorter file for a new database, and would hide that everything is lost. */
const SMALLEST = 512

/** Opens the database of a state folder; throws a StartError when it is newer than this program or damaged. */
export function openDatabase(dir: string): DatabaseSync {
  const path = join(dir, 'state.db')
  let db: DatabaseSync | undefined
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) create(path)
    else if (stat.size < SMALLEST) throw damaged(path)
    // A connection that may write moves the write-ahead log into the file when it closes: look with one that may not.
    else refuseNewer(path)
    db = new DatabaseSync(path, { timeout: BUSY_MS, enableForeignKeyConstraints: true })
    db.exec('pragma journal_mode = wal; pragma synchronous = full')
    // Of what was deleted just before a crash, the write-ahead log still holds the rows as they were written.
    db.exec('pragma wal_checkpoint(truncate)')
    migrate(db)
    return db
  } catch (cause) {
    db?.close()
    if (cause instanceof StartError || cause instanceof AppError) throw cause
    if (isResult(cause, 'notADatabase') || isResult(cause, 'corrupt')) throw damaged(path, cause)
    throw new StartError(
      'failed',
      `${path} cannot be opened (${(cause as Error).message}). Check its permissions and the disk.`,
      cause,
    )
  }
}

// Under another name until it is complete, so that a short `state.db` is never one that was still being made.
function create(path: string): void {
  const temporary = `${path}.tmp`
  for (const left of [temporary, `${temporary}-journal`]) rmSync(left, { force: true })
  const db = new DatabaseSync(temporary)
  try {
    migrate(db)
  } finally {
    db.close()
  }
  renameSync(temporary, path)
  syncFolder(dirname(path))
}

const damaged = (path: string, cause?: unknown): StartError =>
  new StartError(
    'failed',
    `${path} is damaged. Restore the state folder from a backup, or move the folder away and enrol this device anew.`,
    cause,
  )

function refuseNewer(path: string): void {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS })
  try {
    const version = versionOf(db)
    if (version <= VERSIONS.length) return
    throw new StartError(
      'stateNewer',
      `${path} was written by a newer countersignd (state version ${version}, this one knows ${VERSIONS.length}). ` +
        'Update countersignd, or use another SVC_STATE_DIR.',
    )
  } finally {
    db.close()
  }
}

function migrate(db: DatabaseSync): void {
  for (let version = versionOf(db); version < VERSIONS.length; version++) {
    transaction(db, () => db.exec(`${VERSIONS[version]}; pragma user_version = ${version + 1}`))
  }
}

const versionOf = (db: DatabaseSync): number =>
  (db.prepare('pragma user_version').get() as { user_version: number }).user_version
