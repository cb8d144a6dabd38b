import type { Migration } from '../../storage/migrations.ts'

/** The events that programs read. A sequence number is never used twice, also not after a wipe. */
export const stateVersion15: Migration<string> = {
  version: 15,
  statements: `
  create table events (
    seq integer primary key autoincrement,
    id text not null unique,
    type text not null,
    at integer not null,
    data text not null
  ) strict;
  `,
}
