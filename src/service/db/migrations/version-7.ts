/**
 * Version 7 of the schema: who may be found by mailbox. In SQL that SQLite and PostgreSQL both
 * read.
 */
export const seventh = () => [
  `alter table preferences add column findable_by_email integer not null default 1`,
]
