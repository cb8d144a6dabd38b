import type { Migration } from '../../../storage/migrations.ts'
import type { StatementsFor } from '../engine.ts'

/** Leases of jobs, and the words of public codes by window. */
export const accountVersion14: Migration<StatementsFor> = {
  version: 14,
  // After a crash of PostgreSQL, both tables of words are empty, and the words are computed again.
  statements: (id, unlogged) => [
    `create table leases (
      name text primary key,
      owner ${id} not null,
      until bigint not null
    )`,
    `create ${unlogged} table public_word_windows (
      "window" bigint primary key,
      turn bigint not null
    )`,
    `create ${unlogged} table public_words (
      "window" bigint not null,
      first_word integer not null,
      turn bigint not null,
      entries bytea not null,
      primary key ("window", first_word, turn)
    )`,
  ],
}
