import type { AccountMigration } from '../indexes.ts'

/** When the owner of a guest code was notified that the code is about to end. */
export const accountVersion18: AccountMigration = {
  version: 18,
  statements: () => ['alter table guest_codes add column ending_noticed_at bigint'],
}
