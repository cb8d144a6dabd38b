/**
 * Version 8 of the schema: the signed consents of accounts that approved an invitation. In SQL that
 * SQLite and PostgreSQL both read.
 */
export const eighth = () => [`alter table invitations add column consent_jws text`]
