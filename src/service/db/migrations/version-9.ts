/**
 * Version 9 of the schema: attempts of further devices to be approved. In SQL that SQLite and
 * PostgreSQL both read.
 * @param id how the engine writes the type of ids
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
