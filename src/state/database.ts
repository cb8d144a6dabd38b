/**
 * `state.db`: opened, checked and brought to this program's version. What a newer program has written is not touched.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError, StartError } from '../errors.ts'
import { damaged, isDamage, lost, prepareFile, unopened } from './database-file.ts'
import { transaction } from './sqlite.ts'
import { VERSIONS } from './versions.ts'

const BUSY_MS = 5000

/** Opens the database of a state folder; throws a StartError when it is newer than this program or damaged. */
export function openDatabase(dir: string): DatabaseSync {
  const path = join(dir, 'state.db')
  let db: DatabaseSync | undefined
  try {
    demandNotLost(dir, path)
    prepareFile(path, { fill: migrate, look: (found) => refuseNewer(found, path) })
    db = new DatabaseSync(path, { timeout: BUSY_MS, enableForeignKeyConstraints: true })
    db.exec('pragma journal_mode = wal; pragma synchronous = full')
    // Of what was deleted just before a crash, the write-ahead log still holds the rows as they were written.
    db.exec('pragma wal_checkpoint(truncate)')
    migrate(db)
    return db
  } catch (cause) {
    db?.close()
    if (cause instanceof StartError || cause instanceof AppError) throw cause
    if (isDamage(cause)) throw damaged(path, cause)
    throw unopened(path, cause)
  }
}

// The keychain is chosen when the database is complete: where there is one without the other, this is no first start.
function demandNotLost(dir: string, path: string): void {
  if (!existsSync(path) && existsSync(join(dir, 'keychain.json'))) throw lost(path)
}

function refuseNewer(db: DatabaseSync, path: string): void {
  const version = versionOf(db)
  if (version <= VERSIONS.length) return
  throw new StartError(
    'stateNewer',
    `${path} was written by a newer countersignd (state version ${version}, this one knows ${VERSIONS.length}). ` +
      'Update countersignd, or use another SVC_STATE_DIR.',
  )
}

function migrate(db: DatabaseSync): void {
  for (let version = versionOf(db); version < VERSIONS.length; version++) {
    transaction(db, () => db.exec(`${VERSIONS[version]}; pragma user_version = ${version + 1}`))
  }
}

const versionOf = (db: DatabaseSync): number =>
  (db.prepare('pragma user_version').get() as { user_version: number }).user_version
