import type { Migration } from '../../storage/migrations.ts'

/**
 * The id of the event that a webhook was given up, until the account server has stored a
 * notification of it.
 */
export const stateVersion18: Migration<string> = {
  version: 18,
  statements: 'alter table webhooks add column unreported text',
}
