/**
 * Version 6 of the schema: connections that an owner ended. In SQL for both SQLite and
 * PostgreSQL.
 */
export const sixth = () => [`alter table connections add column ended_at bigint`]
