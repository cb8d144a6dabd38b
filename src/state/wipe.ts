/** Signing out: everything in `state.db` that belongs to the account goes, and leaves nothing to find in the file. */
import type { DatabaseSync } from 'node:sqlite'
import { transaction } from './sqlite.ts'

/**
 * What stays: API tokens, which belong to this machine's user, and the uses of words, so that no words count twice whoever
 * signs in next.
 */
const KEPT = new Set(['tokens', 'replays', 'replays_highest'])

/** Delete the rows of every table but those that are kept, whole or not at all. */
export function wipe(db: DatabaseSync): void {
  const tables = db
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .all() as { name: string }[]
  // Without it a deleted row stays readable in the file until something else is written over it.
  db.exec('pragma secure_delete = on')
  try {
    transaction(db, () => {
      for (const { name } of tables) if (!KEPT.has(name)) db.exec(`delete from main.${name}`)
    })
  } finally {
    db.exec('pragma secure_delete = off')
  }
  // The write-ahead log still holds the rows as they were written.
  db.exec('pragma wal_checkpoint(truncate)')
}
