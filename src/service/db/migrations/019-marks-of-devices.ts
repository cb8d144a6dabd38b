import type { AccountMigration } from '../indexes.ts'

/** The mark of the list of devices, which is made like the marks of version 17. */
export const accountVersion19: AccountMigration = {
  version: 19,
  statements: () => ['alter table sync_marks add column devices bigint not null default 0'],
}
