/** Version 10 of the schema, the first of protocol 2. In SQL for both SQLite and PostgreSQL. */
export const tenth = (): string[] => [
  // The bytes of sealing keys, which key logs name by hash.
  `alter table devices add column seal_key text not null default ''`,
]
