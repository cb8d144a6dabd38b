/**
 * The first two versions of the schema, in SQL for both SQLite and PostgreSQL. A released version
 * never changes.
 */

/** @param id the SQL type of ids for the engine */
export const first = (id: string) => [
  `create table accounts (
    id ${id} primary key,
    kind text not null,
    display_name text not null
  )`,
  `create table devices (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    name text not null,
    platform text not null
  )`,
  `create index devices_of_account on devices (account_id)`,
  `create table key_log_entries (
    account_id ${id} not null references accounts on delete cascade on update cascade,
    seq integer not null,
    entry text not null,
    stored_at bigint not null,
    primary key (account_id, seq)
  )`,
  `create table enrolment_codes (
    locator ${id} primary key,
    secret_hash text not null,
    account_id ${id},
    tries integer not null,
    expires_at bigint not null
  )`,
  `create index enrolment_codes_by_expiry on enrolment_codes (expires_at)`,
  `create table sessions (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    device_id ${id} not null references devices on delete cascade,
    access_hash text not null unique,
    access_expires_at bigint not null,
    refresh_hash text not null unique,
    last_seen_at bigint not null
  )`,
  `create index sessions_of_account on sessions (account_id)`,
  `create index sessions_of_device on sessions (device_id)`,
  `create table receipt_key (
    id integer primary key check (id = 1),
    seed text not null
  )`,
  `create table connections (
    id ${id} primary key,
    epoch bigint not null,
    created_at bigint not null
  )`,
  `create table memberships (
    account_id ${id} not null references accounts on delete cascade on update cascade,
    connection_id ${id} not null references connections on delete cascade,
    role text not null,
    name text not null,
    favorite integer not null,
    updated_at bigint not null,
    primary key (account_id, connection_id)
  )`,
  `create index memberships_of_connection on memberships (connection_id)`,
  `create table roster_entries (
    connection_id ${id} not null references connections on delete cascade,
    seq integer not null,
    entry text not null,
    primary key (connection_id, seq)
  )`,
  `create table envelopes (
    connection_id ${id} not null references connections on delete cascade,
    epoch bigint not null,
    recipient ${id} not null references devices on delete cascade,
    envelope text not null,
    primary key (connection_id, recipient, epoch)
  )`,
  `create index envelopes_of_device on envelopes (recipient)`,
  `create table guest_codes (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    label text not null,
    expires_at bigint not null,
    revoked_at bigint,
    last_opened_at bigint,
    created_at bigint not null
  )`,
  `create index guest_codes_of_account on guest_codes (account_id, id)`,
  `create table stamps (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    words bigint not null unique,
    stamp text not null,
    receipt text not null
  )`,
  `create index stamps_of_account on stamps (account_id)`,
  `create table verifications (
    account_id ${id} not null references accounts on delete cascade on update cascade,
    id ${id} not null,
    entry text not null,
    primary key (account_id, id)
  )`,
]

/**
 * Version 2 of the schema: several devices per account, mailboxes, machine accounts. Also proofs
 * of keys, and answers kept for repeated requests.
 * @param id the SQL type of ids for the engine
 */
export const second = (id: string) => [
  `create table emails (
    address ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    is_primary integer not null,
    verified_at bigint not null
  )`,
  `create index emails_of_account on emails (account_id)`,
  `alter table devices add column keys text`,
  `alter table devices add column auth_kid text not null default ''`,
  `alter table devices add column created_at bigint not null default 0`,
  `alter table devices add column approved_at bigint`,
  `alter table devices add column revoked_at bigint`,
  `create index devices_that_wait on devices (created_at) where keys is not null`,
  // Before this version an account had one device, which its entry 0 named and which needs no
  // approval.
  `update devices set approved_at = 0, created_at = coalesce(
    (select stored_at from key_log_entries where account_id = devices.account_id and seq = 0), 0)`,
  `alter table enrolment_codes add column email ${id}`,
  `alter table enrolment_codes add column device_id ${id}`,
  `create index enrolment_codes_by_email on enrolment_codes (email)`,
  // Earlier sessions existed inside one process, without tokens.
  `alter table sessions rename to sessions_before`,
  `drop index sessions_of_account`,
  `drop index sessions_of_device`,
  `create table sessions (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    device_id ${id} not null references devices on delete cascade,
    refresh_hash ${id} not null unique,
    created_at bigint not null,
    last_seen_at bigint not null,
    proven integer not null
  )`,
  `insert into sessions (id, account_id, device_id, refresh_hash, created_at, last_seen_at, proven)
    select id, account_id, device_id, refresh_hash, last_seen_at, last_seen_at, 1 from sessions_before`,
  `drop table sessions_before`,
  `create index sessions_of_account on sessions (account_id)`,
  `create index sessions_of_device on sessions (device_id)`,
  `create table access_tokens (
    hash ${id} primary key,
    session_id ${id} not null references sessions on delete cascade,
    expires_at bigint not null
  )`,
  `create index access_tokens_of_session on access_tokens (session_id)`,
  `create table seen_once (
    id ${id} primary key,
    expires_at bigint not null
  )`,
  `create index seen_once_by_expiry on seen_once (expires_at)`,
  `create table server_secrets (
    name ${id} primary key,
    secret text not null
  )`,
  `create table organisations (
    id ${id} primary key,
    name text not null,
    created_at bigint not null
  )`,
  `create table organisation_members (
    organisation_id ${id} not null references organisations on delete cascade,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    role text not null,
    state text not null,
    joined_at bigint not null,
    primary key (organisation_id, account_id)
  )`,
  `create index organisations_of_account on organisation_members (account_id)`,
  `create table machines (
    id ${id} primary key,
    account_id ${id} not null unique references accounts on delete cascade on update cascade,
    organisation_id ${id} not null references organisations on delete cascade,
    kid ${id} not null unique,
    key text not null,
    created_by ${id} not null,
    created_at bigint not null
  )`,
  `create index machines_of_organisation on machines (organisation_id)`,
  `create table machine_tokens (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade on update cascade,
    hash ${id} not null unique,
    name text not null,
    label text,
    scope text not null,
    granted integer not null,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint
  )`,
  `create index machine_tokens_of_account on machine_tokens (account_id, id)`,
  `create table idempotency (
    caller ${id} not null,
    key ${id} not null,
    fingerprint text not null,
    answer text not null,
    at bigint not null,
    primary key (caller, key)
  )`,
  `create index idempotency_by_age on idempotency (at)`,
]
