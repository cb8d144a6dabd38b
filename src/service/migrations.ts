/**
 * The schema, as a forward list of versions. Each runs in a transaction of its own under a lock that keeps other replicas
 * out, and is recorded there; a database from a newer program is left as it is. A version that was released never changes.
 * One SQL text serves SQLite and PostgreSQL.
 */
import { StartError } from '../errors.ts'
import type { Engine, Query } from './engine.ts'

const first = (id: string) => [
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
]

const VERSIONS: readonly ((id: string) => readonly string[])[] = [first]

/**
 * Apply the next version, if there is one. Under the lock each program sees what the one before it has done.
 * @returns whether there was one
 */
async function step(query: Query, { idType }: Engine): Promise<boolean> {
  await query(`create table if not exists schema_version (
    version integer primary key,
    applied_at text not null default current_timestamp
  )`)
  const [row] = await query('select max(version) as version from schema_version')
  const version = Number(row?.['version'] ?? 0)
  if (version > VERSIONS.length)
    throw new StartError(
      'stateNewer',
      `The account database has version ${version}, this program knows ${VERSIONS.length}: start the newer program.`,
    )
  const next = VERSIONS[version]
  if (next === undefined) return false
  for (const text of next(idType)) await query(text)
  await query(`insert into schema_version (version) values (${version + 1})`)
  return true
}

/**
 * Bring the database to the version of this program, from whatever version it has. Throws StartError `stateNewer` when it is
 * ahead of this program, and what the database throws; a version is applied whole or not at all.
 */
export const migrate = (engine: Engine): Promise<void> =>
  engine.session(async (query) => {
    for (let more = true; more;) {
      for (const text of engine.lock) await query(text)
      try {
        more = await step(query, engine)
        await query('commit')
      } catch (error) {
        // The first error says what went wrong; a broken connection cannot roll back, and need not.
        await query('rollback').catch(() => undefined)
        throw error
      }
    }
  })
