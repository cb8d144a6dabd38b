/**
 * Deletes the account's data from `state.db`, so that the file holds no trace of it. It runs at
 * sign-out and after the account was deleted.
 */
import type { DatabaseSync } from 'node:sqlite'
import { transaction } from '../storage/sqlite.ts'
import { versionCopies } from '../storage/version-copy.ts'

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
 * Deletes the rows of every table except the kept ones, in one transaction.
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
