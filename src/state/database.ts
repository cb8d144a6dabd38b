/**
 * Opens and checks `state.db`, and migrates it to this program's version after making a copy of
 * it. A database that a newer program wrote is not changed.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError, StartError } from '../errors.ts'
import type { Log } from '../log.ts'
import { isRestoring } from '../storage/folder-contents.ts'
import {
  damaged,
  isDamage,
  lost,
  ofProtocol1,
  prepareFile,
  unopened,
} from '../storage/database-file.ts'
import { transaction } from '../storage/sqlite.ts'
import { versionCopies } from '../storage/version-copy.ts'
import { FIRST_STATE_VERSION, VERSIONS } from './versions.ts'

const BUSY_MS = 5000

/**
 * Opens the database of a state folder.
 * @param log logs a migration
 * @throws StartError if it is of protocol 1, newer than this program, damaged, or older and no
 *   copy of it can be made
 */
export function openDatabase(dir: string, log?: Log): DatabaseSync {
  const path = join(dir, 'state.db')
  let db: DatabaseSync | undefined
  try {
    requireRestored(dir)
    requireNotLost(dir, path)
    prepareFile(path, { fill: migrate, look: (found) => refuseOther(found, path) })
    db = new DatabaseSync(path, { timeout: BUSY_MS, enableForeignKeyConstraints: true })
    db.exec('pragma journal_mode = wal; pragma synchronous = full')
    // The write-ahead log still holds the rows that were deleted just before a crash.
    db.exec('pragma wal_checkpoint(truncate)')
    bringForward(db, path, log)
    return db
  } catch (cause) {
    db?.close()
    if (cause instanceof StartError || cause instanceof AppError) throw cause
    if (isDamage(cause)) throw damaged(path, cause)
    throw unopened(path, cause)
  }
}

// The folder may hold only half of the backup, and a new account in its place would hide that.
function requireRestored(dir: string): void {
  if (isRestoring(dir))
    throw new StartError(
      'failed',
      `A restore into ${dir} was cut off. Run "countersignd restore FILE" again: it begins anew.`,
    )
}

// The keychain is chosen after the database is complete: if it exists without the database, this
// is not the first start.
function requireNotLost(dir: string, path: string): void {
  if (!existsSync(path) && existsSync(join(dir, 'keychain.json'))) throw lost(path)
}

function refuseOther(db: DatabaseSync, path: string): void {
  const version = versionOf(db)
  if (version > 0 && version < FIRST_STATE_VERSION) throw ofProtocol1(path, version)
  if (version <= VERSIONS.length) return
  throw new StartError(
    'stateNewer',
    `${path} was written by a newer countersignd (state version ${version}, this one knows ${VERSIONS.length}). ` +
      `Update countersignd, or use another SVC_STATE_DIR.${versionCopies(db, path).advice(VERSIONS.length)}`,
  )
}

function bringForward(db: DatabaseSync, path: string, log?: Log): void {
  const version = versionOf(db)
  if (version === VERSIONS.length) return
  const copies = versionCopies(db, path)
  const copy = copies.keep(version)
  migrate(db)
  copies.keepOnly(version)
  log?.('info', 'database brought forward', {
    file: path,
    from: version,
    to: VERSIONS.length,
    copy,
  })
}

// One transaction for all versions: after a crash between two, the next start would copy the
// database at the intermediate version instead.
function migrate(db: DatabaseSync): void {
  transaction(db, () => {
    for (let version = versionOf(db); version < VERSIONS.length; version++)
      db.exec(`${VERSIONS[version]}; pragma user_version = ${version + 1}`)
  })
}

const versionOf = (db: DatabaseSync): number =>
  (db.prepare('pragma user_version').get() as { user_version: number }).user_version
