/**
 * A database as version 1 left it, with one account that has a device, a session, a connection and a guest code. The program
 * no longer writes this version; databases out there have it.
 */
import { newId } from '../../src/crypto/id.ts'
import { newMaker, opening, type Maker } from './person.ts'

const tables = (id: string) => [
  `create table accounts (
    id ${id} primary key,
    kind text not null,
    display_name text not null
  )`,
  `create table devices (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade,
    name text not null,
    platform text not null
  )`,
  `create index devices_of_account on devices (account_id)`,
  `create table key_log_entries (
    account_id ${id} not null references accounts on delete cascade,
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
    account_id ${id} not null references accounts on delete cascade,
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
    account_id ${id} not null references accounts on delete cascade,
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
    account_id ${id} not null references accounts on delete cascade,
    label text not null,
    expires_at bigint not null,
    revoked_at bigint,
    last_opened_at bigint,
    created_at bigint not null
  )`,
  `create index guest_codes_of_account on guest_codes (account_id, id)`,
  `create table stamps (
    id ${id} primary key,
    account_id ${id} not null references accounts on delete cascade,
    words bigint not null unique,
    stamp text not null,
    receipt text not null
  )`,
  `create index stamps_of_account on stamps (account_id)`,
  `create table verifications (
    account_id ${id} not null references accounts on delete cascade,
    id ${id} not null,
    entry text not null,
    primary key (account_id, id)
  )`,
  `create table schema_version (
    version integer primary key,
    applied_at text not null default current_timestamp
  )`,
  `insert into schema_version (version) values (1)`,
]

export interface VersionOne {
  readonly maker: Maker
  readonly session: string
  readonly connection: string
  readonly statements: readonly string[]
}

/** When the account was made, Unix milliseconds. */
export const MADE_AT = 1_767_000_000_000

/**
 * @param idType how the engine writes the type of ids
 * @param refreshHash SHA-256 of the session's refresh token, hex
 */
export async function versionOne(idType: string, refreshHash: string): Promise<VersionOne> {
  const maker = newMaker()
  const session = newId('ses_', Date.now())
  const { connection, entry, envelopes } = await opening(maker)
  const text = (value: string) => `'${value.replaceAll("'", "''")}'`
  const insert = (table: string, row: Readonly<Record<string, string | number>>) => {
    const values = Object.values(row).map((value) =>
      typeof value === 'string' ? text(value) : String(value),
    )
    return `insert into ${table} (${Object.keys(row).join()}) values (${values.join()})`
  }
  const { id: account_id, device } = maker
  return {
    maker,
    session,
    connection,
    statements: [
      ...tables(idType),
      insert('accounts', { id: account_id, kind: 'person', display_name: 'Ada' }),
      insert('devices', { id: device, account_id, name: 'desk', platform: 'linux' }),
      insert('key_log_entries', { account_id, seq: 0, entry: maker.entry, stored_at: MADE_AT }),
      insert('enrolment_codes', {
        locator: 'AAAA',
        secret_hash: 'x',
        account_id,
        tries: 1,
        expires_at: MADE_AT,
      }),
      insert('sessions', {
        id: session,
        account_id,
        device_id: device,
        access_hash: 'a',
        access_expires_at: MADE_AT,
        refresh_hash: refreshHash,
        last_seen_at: MADE_AT,
      }),
      insert('connections', { id: connection, epoch: 1, created_at: MADE_AT }),
      insert('memberships', {
        account_id,
        connection_id: connection,
        role: 'owner',
        name: 'Bob',
        favorite: 0,
        updated_at: MADE_AT,
      }),
      insert('roster_entries', { connection_id: connection, seq: 0, entry }),
      insert('envelopes', {
        connection_id: connection,
        epoch: 1,
        recipient: device,
        envelope: envelopes[0]!,
      }),
    ],
  }
}
