/**
 * Version 6 of the schema: connections that an owner ended. In SQL that SQLite and PostgreSQL both
 * read.
 */
export const sixth = () => [`alter table connections add column ended_at bigint`]
