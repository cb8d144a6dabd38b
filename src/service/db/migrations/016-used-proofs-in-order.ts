import type { AccountMigration } from '../indexes.ts'

/**
 * The ids of used proofs begin with their time, so the primary key is the only index. In
 * PostgreSQL, new pages of sessions have room for newer versions of their rows, because an update
 * within a page needs no index entries.
 */
export const accountVersion16: AccountMigration = {
  version: 16,
  statements: (_, unlogged) => [
    'drop index used_proofs_by_expiry',
    // SQLite has no versions of rows.
    ...(unlogged === '' ? [] : ['alter table sessions set (fillfactor = 80)']),
  ],
}
