import type { AccountMigration } from '../indexes.ts'

/** The ids of used proofs begin with their time, so the primary key is the only index. */
export const accountVersion16: AccountMigration = {
  version: 16,
  statements: () => ['drop index used_proofs_by_expiry'],
}
