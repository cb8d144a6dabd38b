import type { AccountMigration } from '../indexes.ts'

const LISTS = ['invitations', 'open_link_requests', 'notifications', 'exports', 'organisations']

/**
 * The marks of the lists that devices show. Zero means that the account has no marks of them yet:
 * the next device that asks makes them. Servers of earlier versions, which do not know these
 * columns, insert zero as well.
 */
export const accountVersion17: AccountMigration = {
  version: 17,
  statements: () =>
    LISTS.map((list) => `alter table sync_marks add column ${list} bigint not null default 0`),
}
