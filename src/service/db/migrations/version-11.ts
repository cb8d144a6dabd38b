/**
 * Version 11 of the schema: the signed consents of accounts that approved an invitation, the
 * connections that replace forked ones, and the signed profiles. In SQL for both SQLite and
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
