/**
 * Opens and checks `state.db`. If the file is older than this program, copies and then migrates it.
 * Does not change a database that a newer program wrote. Also deletes the account's data.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError, StartError } from '../errors.ts'
import type { Log } from '../log.ts'
import { damaged, isDamage, lost, prepareFile, unopened } from '../storage/database-file.ts'
import { isRestoring } from '../storage/folder.ts'
import { isTooOld, type Migrations, supportedBy, tooOld } from '../storage/migrations.ts'
import { transaction } from '../storage/sqlite.ts'
import { versionCopies } from '../storage/database-copy.ts'
import { STATE_MIGRATIONS } from './migrations.ts'

const BUSY_MS = 5000

/**
 * Opens the database of a state folder.
 * @param log logs a migration
 * @throws StartError if the database was written before the first release, is newer than this
 *   program or is damaged, or if it is older and cannot be copied
 */
export function openDatabase(
  dir: string,
  log?: Log,
  migrations: Migrations<string> = STATE_MIGRATIONS,
): DatabaseSync {
  const path = join(dir, 'state.db')
  let db: DatabaseSync | undefined
  try {
    requireRestored(dir)
    requireNotLost(dir, path)
    prepareFile(path, {
      fill: (made) => migrate(made, migrations),
      check: (found) => refuseOther(found, path, migrations),
    })
    db = new DatabaseSync(path, { timeout: BUSY_MS, enableForeignKeyConstraints: true })
    db.exec('pragma journal_mode = wal; pragma synchronous = full')
    // After a crash, the write-ahead log can still contain rows that were deleted.
    db.exec('pragma wal_checkpoint(truncate)')
    bringForward(db, path, { log, migrations })
    return db
  } catch (cause) {
    db?.close()
    if (cause instanceof StartError || cause instanceof AppError) throw cause
    if (isDamage(cause)) throw damaged(path, cause)
    throw unopened(path, cause)
  }
}

// After an interrupted restore, the folder may contain only part of the backup. A new account
// created in it would hide that.
function requireRestored(dir: string): void {
  if (isRestoring(dir))
    throw new StartError(
      'failed',
      `A restore into ${dir} was interrupted. Run "countersignd restore FILE" again to restart it.`,
    )
}

// A first start creates `keychain.json` only after the database is complete. So `keychain.json`
// without a database means that the database was lost.
function requireNotLost(dir: string, path: string): void {
  if (!existsSync(path) && existsSync(join(dir, 'keychain.json'))) throw lost(path)
}

function refuseOther(db: DatabaseSync, path: string, migrations: Migrations<string>): void {
  const version = versionOf(db)
  const versions = supportedBy(migrations)
  const { newest } = versions
  if (isTooOld(version, versions)) throw tooOld(path, version, versions)
  if (version <= newest) return
  throw new StartError(
    'stateNewer',
    `${path} was written by a newer countersignd (state version ${version}, this one knows ${newest}). ` +
      `Update countersignd, or use another SVC_STATE_DIR.${versionCopies(db, path).advice(newest)}`,
  )
}

function bringForward(
  db: DatabaseSync,
  path: string,
  { log, migrations }: { log: Log | undefined; migrations: Migrations<string> },
): void {
  const from = versionOf(db)
  const { newest: to } = supportedBy(migrations)
  if (from === to) return
  const copies = versionCopies(db, path)
  const copy = copies.keep(from)
  migrate(db, migrations)
  copies.keepOnly(from)
  log?.('info', 'database migrated', { file: path, from, to, copy })
}

// All versions are migrated in one transaction. Otherwise, after a crash between two versions, the
// next start would copy the database at the intermediate version.
function migrate(db: DatabaseSync, migrations: Migrations<string>): void {
  transaction(db, () => {
    const from = versionOf(db)
    for (const { version, statements } of migrations)
      if (version > from) db.exec(`${statements}; pragma user_version = ${version}`)
  })
}

const versionOf = (db: DatabaseSync): number =>
  (db.prepare('pragma user_version').get() as { user_version: number }).user_version

/**
 * The tables that a sign-out keeps. API tokens belong to this machine's user. The used words are
 * kept so that no words can be used twice after the next sign-in. The counts of wrong attempts and
 * approval attempts are kept so that a sign-out does not reset the limits.
 */
const KEPT = ['tokens', 'replays', 'replays_highest', 'wrong_tries', 'approval_attempts']

/**
 * The only table that is kept after the account and its tokens were deleted. Its one value, the
 * highest window recorded, identifies no account.
 */
const KEPT_OF_NOBODY = ['replays_highest']

/**
 * Deletes the rows of every table except the kept ones, so that the file has no trace of the
 * account. Runs in one transaction, at sign-out and after the account was deleted.
 * @param all whether the account was deleted, so that the API tokens and the attempts are deleted
 *   too
 * @param wiped called in the same transaction
 */
export function wipe(db: DatabaseSync, all = false, wiped: () => void = () => undefined): void {
  const retained = all ? KEPT_OF_NOBODY : KEPT
  const tables = db
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .all() as { name: string }[]
  // Without this setting, a deleted row stays readable in the file until other data overwrites it.
  db.exec('pragma secure_delete = on')
  try {
    transaction(db, () => {
      for (const { name } of tables)
        if (!retained.includes(name)) db.exec(`delete from main.${name}`)
      wiped()
    })
  } finally {
    db.exec('pragma secure_delete = off')
  }
  // The write-ahead log and the copy of an older version still contain the deleted rows.
  db.exec('pragma wal_checkpoint(truncate)')
  versionCopies(db, db.location() as string).forget()
}
