/** Signing out, and the end of an account: everything in `state.db` that belongs to the account goes, and leaves nothing to find in the file. */
import type { DatabaseSync } from 'node:sqlite'
import { transaction } from '../storage/sqlite.ts'
import { versionCopies } from '../storage/version-copy.ts'

/**
 * What stays: API tokens, which belong to this machine's user, the uses of words, so that no words
 * count twice after the next sign-in, and the wrong tries and the attempts of approvals, which no
 * sign-out may reset.
 */
const KEPT = ['tokens', 'replays', 'replays_highest', 'wrong_tries', 'approval_attempts']

/** What stays where the account itself is gone, and the tokens for it: how far the clock has come, which names nobody. */
const KEPT_OF_NOBODY = ['replays_highest']

/**
 * Delete the rows of every table but those that are kept, whole or not at all.
 * @param all whether nothing is to be left that names the account or serves it, since it was deleted
 */
export function wipe(db: DatabaseSync, all = false): void {
  const kept = all ? KEPT_OF_NOBODY : KEPT
  const tables = db
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .all() as { name: string }[]
  // Without it a deleted row stays readable in the file until something else is written over it.
  db.exec('pragma secure_delete = on')
  try {
    transaction(db, () => {
      for (const { name } of tables) if (!kept.includes(name)) db.exec(`delete from main.${name}`)
    })
  } finally {
    db.exec('pragma secure_delete = off')
  }
  // The write-ahead log still holds the rows as they were written, and a copy of an older version those of its day.
  db.exec('pragma wal_checkpoint(truncate)')
  versionCopies(db, db.location() as string).forget()
}
