/**
 * The schema, as a list of versions without downgrades. Each version from the first of protocol 2
 * on runs in its own transaction, under a lock that excludes other replicas, and is recorded
 * there. A database of a newer program stays unchanged.
 */
import { StartError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { ofProtocol1 } from '../../storage/database-file.ts'
import type { Engine, Query } from './engine.ts'
import { third } from './migrations/version-3.ts'
import { fourth } from './migrations/version-4.ts'
import { fifth } from './migrations/version-5.ts'
import { sixth } from './migrations/version-6.ts'
import { seventh } from './migrations/version-7.ts'
import { eighth } from './migrations/version-8.ts'
import { ninth } from './migrations/version-9.ts'
import { tenth } from './migrations/version-10.ts'
import { eleventh } from './migrations/version-11.ts'
import { first, second } from './migrations/versions.ts'

/**
 * The statements of each version.
 * @param id the SQL type of ids for the engine
 */
const VERSIONS: readonly ((id: string) => readonly string[])[] = [
  first,
  second,
  third,
  (id) => [...fourth(id), 'create unique index emails_by_id on emails (id)'],
  (id) => [
    ...fifth(id),
    'create unique index organisation_members_in_order on organisation_members (organisation_id, member_id)',
  ],
  sixth,
  seventh,
  eighth,
  ninth,
  tenth,
  eleventh,
]

/** The first version of protocol 2. Older versions are of protocol 1, and are rejected. */
export const FIRST_DATABASE_VERSION = 11

/** The version to which this program migrates a database. */
export const NEWEST_VERSION = VERSIONS.length

const LEDGER = `create table if not exists schema_version (
    version integer primary key,
    applied_at text not null default current_timestamp
  )`

/** Returns the statements for the tables and indexes of a version in a new SQLite database. */
export const statementsUntil = (version: number): readonly string[] => [
  LEDGER,
  ...VERSIONS.slice(0, version).flatMap((statements) => statements('text')),
]

/**
 * Applies the next version, if there is one. Under the lock, each program sees the changes of the
 * one before it.
 * @returns the version that it applied; null if there was none
 */
async function step(query: Query, idType: string): Promise<number | null> {
  const version = await applied(query)
  const next = VERSIONS[version]
  if (next === undefined) return null
  for (const text of next(idType)) await query(text)
  await query(`insert into schema_version (version) values (${version + 1})`)
  return version + 1
}

/** Returns the newest version that was applied, 0 for none. */
async function applied(query: Query): Promise<number> {
  const [row] = await query('select max(version) as version from schema_version')
  return Number(row?.['version'] ?? 0)
}

/** Throws StartError for a database that this program does not read. */
function requireKnown(version: number, { copies }: Engine): void {
  if (version > 0 && version < FIRST_DATABASE_VERSION)
    throw ofProtocol1('The account database', version)
  if (version > VERSIONS.length)
    throw new StartError(
      'stateNewer',
      `The account database has version ${version}, this program knows ${VERSIONS.length}: start the newer program.${copies?.advice(VERSIONS.length) ?? ''}`,
    )
}

/** Returns the version of a database in a file, 0 for a new one. */
async function versionIn(query: Query): Promise<number> {
  const [table] = await query(`select 1 from sqlite_schema where name = 'schema_version'`)
  return table === undefined ? 0 : applied(query)
}

/**
 * Migrates the database from any supported version to the version of this program. An older
 * database in a file is copied first. Each version is applied completely or not at all; in a
 * file, all versions together are.
 * @param log receives a message for a migration
 * @throws StartError `stateOlder` for a database of protocol 1, `stateNewer` for one of a newer
 *   program, `failed` if the copy cannot be made; and the errors of the database
 */
export const migrate = (engine: Engine, log?: Log): Promise<void> =>
  engine.session(async (query) => {
    const { copies } = engine
    const from = copies === null ? 0 : await versionIn(query)
    requireKnown(from, engine)
    const copy = from > 0 && from < VERSIONS.length ? copies?.keep(from) : undefined
    for (let more = true; more;) {
      for (const text of engine.lock) await query(text)
      try {
        // All versions in one transaction in a file: after a crash in between, the next start
        // would replace the copy of the original version by one of the intermediate version.
        more = false
        await query(LEDGER)
        requireKnown(await applied(query), engine)
        for (let reached = 0; reached < FIRST_DATABASE_VERSION || copies !== null;) {
          const next = await step(query, engine.idType)
          if (next === null) break
          more = true
          reached = next
        }
        await query('commit')
      } catch (error) {
        // The first error has the cause. A broken connection cannot roll back, and need not.
        await query('rollback').catch(() => undefined)
        throw error
      }
    }
    if (copy === undefined) return
    copies?.keepOnly(from)
    log?.('info', 'account database brought forward', { from, to: VERSIONS.length, copy })
  })
