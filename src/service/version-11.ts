/**
 * Version 11 of the schema: the signed consents of accounts that approved an invitation, and the
 * signed profiles. In SQL that SQLite and PostgreSQL both read.
 */
export const eleventh = () => [
  `alter table invitations add column consent_jws text`,
  `alter table accounts add column profile text`,
]
