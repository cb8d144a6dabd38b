/**
 * Version 7 of the schema: the preference to be found by mailbox. In SQL for both SQLite and
 * PostgreSQL.
 */
export const seventh = () => [
  `alter table preferences add column findable_by_email integer not null default 1`,
]
