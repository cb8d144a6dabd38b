import type { Migration } from '../../storage/migrations.ts'

/**
 * What lists of the account server contained when this device last read them. A row without an id
 * records that a list was read.
 */
export const stateVersion17: Migration<string> = {
  version: 17,
  statements: `
  create table listed (
    list text not null,
    id text not null,
    state text not null,
    primary key (list, id)
  ) strict, without rowid;
  `,
}
