/**
 * `state.db`: opened, checked and brought to this program's version, after a copy of it was made. What a newer program has written is
 * not touched.
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
import { FIRST_READ, VERSIONS } from './versions.ts'

const BUSY_MS = 5000

/**
 * Opens the database of a state folder.
 * @param log hears when it is brought forward
 * @throws StartError when it is of protocol 1, newer than this program, damaged, or older and no copy of it can be made
 */
export function openDatabase(dir: string, log?: Log): DatabaseSync {
  const path = join(dir, 'state.db')
  let db: DatabaseSync | undefined
  try {
    demandRestored(dir)
    demandNotLost(dir, path)
    prepareFile(path, { fill: migrate, look: (found) => refuseOther(found, path) })
    db = new DatabaseSync(path, { timeout: BUSY_MS, enableForeignKeyConstraints: true })
    db.exec('pragma journal_mode = wal; pragma synchronous = full')
    // Of what was deleted just before a crash, the write-ahead log still holds the rows as they were written.
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

// What is there so far may be half of it, and a new account in its place would hide that.
function demandRestored(dir: string): void {
  if (isRestoring(dir))
    throw new StartError(
      'failed',
      `A restore into ${dir} was cut off. Run "countersignd restore FILE" again: it begins anew.`,
    )
}

// The keychain is chosen when the database is complete: where there is one without the other, this is no first start.
function demandNotLost(dir: string, path: string): void {
  if (!existsSync(path) && existsSync(join(dir, 'keychain.json'))) throw lost(path)
}

function refuseOther(db: DatabaseSync, path: string): void {
  const version = versionOf(db)
  if (version > 0 && version < FIRST_READ) throw ofProtocol1(path, version)
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

// All versions or none: of a crash between two, the next start would keep a copy of the half-way version instead.
function migrate(db: DatabaseSync): void {
  transaction(db, () => {
    for (let version = versionOf(db); version < VERSIONS.length; version++)
      db.exec(`${VERSIONS[version]}; pragma user_version = ${version + 1}`)
  })
}

const versionOf = (db: DatabaseSync): number =>
  (db.prepare('pragma user_version').get() as { user_version: number }).user_version
