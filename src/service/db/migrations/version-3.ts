/**
 * Version 3 of the schema: connections between people, and how they find and follow each other.
 * In SQL for both SQLite and PostgreSQL.
 * @param id the SQL type of ids for the engine
 */
export const third = (id: string) => [
  `create table invitations (
    id ${id} primary key,
    connection_id ${id} not null references connections on delete cascade,
    connection_name text not null,
    from_account ${id} not null references accounts on delete cascade on update cascade,
    to_account ${id} references accounts on delete cascade on update cascade,
    to_email ${id},
    state text not null,
    consent integer not null,
    created_at bigint not null,
    expires_at bigint not null
  )`,
  `create index invitations_of_connection on invitations (connection_id)`,
  `create index invitations_sent on invitations (from_account, id)`,
  `create index invitations_received on invitations (to_account, id)`,
  `create index invitations_by_email on invitations (to_email)`,
  `create index invitations_that_wait on invitations (connection_id) where consent = 1`,
  `alter table envelopes add column sender ${id} references devices on delete set null`,
  `create index envelopes_by_sender on envelopes (sender)`,
  `alter table accounts add column handle ${id}`,
  `alter table accounts add column headline text`,
  `create unique index accounts_by_handle on accounts (handle)`,
  `create table preferences (
    account_id ${id} primary key references accounts on delete cascade on update cascade,
    locale text,
    time_zone text,
    public_code integer not null,
    email_notifications integer not null
  )`,
  `create table public_codes (
    account_id ${id} primary key references accounts on delete cascade on update cascade,
    k text,
    turn bigint not null
  )`,
  `create index public_codes_by_turn on public_codes (turn)`,
  `create table public_code_turns (id integer primary key, turn bigint not null)`,
  `insert into public_code_turns (id, turn) values (1, 0)`,
  `create table tries (
    account_id ${id} not null references accounts on delete cascade on update cascade,
    what text not null,
    id ${id} not null,
    expires_at bigint not null,
    primary key (account_id, what, id)
  )`,
  `create table trust_cards (
    account_id ${id} not null references accounts on delete cascade on update cascade,
    watched_id ${id} not null references accounts on delete cascade on update cascade,
    note text,
    created_at bigint not null,
    confirmed_at bigint,
    last_verified_at bigint,
    primary key (account_id, watched_id)
  )`,
  `create index trust_cards_in_order on trust_cards (account_id, created_at, watched_id)`,
  `create index trust_cards_of_watched on trust_cards (watched_id)`,
  `create table trust_events (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    watched_id ${id} not null references accounts on delete cascade on update cascade,
    at bigint not null,
    event text not null,
    detail text
  )`,
  `create index trust_events_of_card on trust_events (account_id, watched_id, id)`,
]
