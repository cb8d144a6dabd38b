/**
 * Opens and checks `state.db`, and migrates it to this program's version after making a copy of
 * it. A database that a newer program wrote is not changed. Also deletes the account's data.
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
 * @throws StartError if it is from before the first release, newer than this program, damaged, or
 *   older and no copy of it can be made
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
      look: (found) => refuseOther(found, path, migrations),
    })
    db = new DatabaseSync(path, { timeout: BUSY_MS, enableForeignKeyConstraints: true })
    db.exec('pragma journal_mode = wal; pragma synchronous = full')
    // The write-ahead log still holds the rows that were deleted just before a crash.
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

// The folder may hold only half of the backup, and a new account in its place would hide that.
function requireRestored(dir: string): void {
  if (isRestoring(dir))
    throw new StartError(
      'failed',
      `A restore into ${dir} was interrupted. Run "countersignd restore FILE" again to restart it.`,
    )
}

// The keychain is chosen after the database is complete: if it exists without the database, this
// is not the first start.
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

// One transaction for all versions: after a crash between two, the next start would copy the
// database at the intermediate version instead.
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
 * The tables that a sign-out keeps. API tokens belong to this machine's user. The uses of words
 * stay so that no words count twice after the next sign-in. A sign-out must not reset the wrong
 * attempts and the approval attempts.
 */
const KEPT = ['tokens', 'replays', 'replays_highest', 'wrong_tries', 'approval_attempts']

/**
 * The table that is kept after the account and its tokens were deleted. The highest window
 * recorded names no account.
 */
const KEPT_OF_NOBODY = ['replays_highest']

/**
 * Deletes the rows of every table except the kept ones, in one transaction, so that the file holds
 * no trace of the account. It runs at sign-out and after the account was deleted.
 * @param all whether to delete everything that names or serves the account, since it was
 *   deleted
 */
export function wipe(db: DatabaseSync, all = false): void {
  const kept = all ? KEPT_OF_NOBODY : KEPT
  const tables = db
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .all() as { name: string }[]
  // Without it a deleted row stays readable in the file until other data overwrites it.
  db.exec('pragma secure_delete = on')
  try {
    transaction(db, () => {
      for (const { name } of tables) if (!kept.includes(name)) db.exec(`delete from main.${name}`)
    })
  } finally {
    db.exec('pragma secure_delete = off')
  }
  // The write-ahead log still holds the deleted rows, and the copy of an older version has its
  // own.
  db.exec('pragma wal_checkpoint(truncate)')
  versionCopies(db, db.location() as string).forget()
}
