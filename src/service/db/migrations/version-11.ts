/**
 * Version 11 of the schema: signed consents, replacements of forked connections, signed profiles.
 * A consent is that of an account that approved an invitation. In SQL for both SQLite and
 * PostgreSQL.
 */
export const eleventh = (id: string) => [
  `alter table invitations add column consent_jws text`,
  `alter table accounts add column profile text`,
  `create table replacements (
    connection_id ${id} primary key references connections on delete cascade,
    replaces ${id} not null,
    fork_one text,
    fork_other text,
    check ((fork_one is null) = (fork_other is null))
  )`,
]
