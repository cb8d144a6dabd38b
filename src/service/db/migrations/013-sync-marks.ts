import type { Migration } from '../../../storage/migrations.ts'
import type { StatementsFor } from '../engine.ts'

/** The marks of what a sync reads. */
export const accountVersion13: Migration<StatementsFor> = {
  version: 13,
  statements: (id) => [
    `create table sync_marks (
      account_id ${id} primary key references accounts on delete cascade on update cascade,
      made_at bigint not null,
      key_log bigint not null,
      connections bigint not null,
      guest_codes bigint not null,
      duties bigint not null,
      trust_cards bigint not null,
      public_code bigint not null
    )`,
  ],
}
