/**
 * Version 8 of the schema: the messages of first contacts by four words. In SQL for both SQLite
 * and PostgreSQL.
 */

/** @param id the SQL type of ids for the engine */
export const eighth = (id: string) => [
  `create table first_contacts (
    invitation_id ${id} primary key references invitations on delete cascade,
    sid ${id} not null,
    device_id ${id} not null references devices on delete cascade,
    invitee_id ${id} references accounts on delete cascade on update cascade,
    invitee_device ${id} references devices on delete cascade,
    message_0 text,
    message_1 text,
    message_2 text,
    expires_at bigint not null
  )`,
  `create index first_contacts_by_device on first_contacts (device_id)`,
  `create index first_contacts_by_invitee on first_contacts (invitee_id)`,
  `create index first_contacts_by_invitee_device on first_contacts (invitee_device)`,
  `create index first_contacts_by_expiry on first_contacts (expires_at)`,
]
