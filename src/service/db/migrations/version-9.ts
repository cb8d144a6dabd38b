/**
 * Version 9 of the schema: approval attempts of further devices. In SQL for both SQLite and
 * PostgreSQL.
 * @param id the SQL type of ids for the engine
 */
export const ninth = (id: string) => [
  `create table device_approvals (
    device_id ${id} primary key references devices on delete cascade,
    commitment text not null,
    begun_at bigint not null,
    answered_by ${id},
    answer text,
    reveal text
  )`,
]
