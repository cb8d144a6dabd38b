/**
 * The schema, as a forward list of versions. Each from the first of protocol 2 on runs in a transaction of its own under a lock that
 * keeps other replicas out, and is recorded there; a database from a newer program is left as it is.
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

/** The statements of each version. @param id how the engine writes the type of ids */
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

/** The first version of protocol 2. What is older was written by protocol 1, and is refused. */
export const FIRST_READ = 11

/** The version that this program brings a database to. */
export const NEWEST_VERSION = VERSIONS.length

const LEDGER = `create table if not exists schema_version (
    version integer primary key,
    applied_at text not null default current_timestamp
  )`

/** What makes the tables and indexes of a version in a new database of SQLite, without rows. */
export const statementsUntil = (version: number): readonly string[] => [
  LEDGER,
  ...VERSIONS.slice(0, version).flatMap((statements) => statements('text')),
]

/**
 * Apply the next version, if there is one. Under the lock each program sees what the one before it has done.
 * @returns the version that it applied; null where there was none
 */
async function step(query: Query, idType: string): Promise<number | null> {
  const version = await applied(query)
  const next = VERSIONS[version]
  if (next === undefined) return null
  for (const text of next(idType)) await query(text)
  await query(`insert into schema_version (version) values (${version + 1})`)
  return version + 1
}

/** The newest version that was applied, 0 for none. */
async function applied(query: Query): Promise<number> {
  const [row] = await query('select max(version) as version from schema_version')
  return Number(row?.['version'] ?? 0)
}

/** Throws StartError for a database that this program does not read. */
function demandKnown(version: number, { copies }: Engine): void {
  if (version > 0 && version < FIRST_READ) throw ofProtocol1('The account database', version)
  if (version > VERSIONS.length)
    throw new StartError(
      'stateNewer',
      `The account database has version ${version}, this program knows ${VERSIONS.length}: start the newer program.${copies?.advice(VERSIONS.length) ?? ''}`,
    )
}

/** The version of a database in a file, 0 for a new one. */
async function versionIn(query: Query): Promise<number> {
  const [table] = await query(`select 1 from sqlite_schema where name = 'schema_version'`)
  return table === undefined ? 0 : applied(query)
}

/**
 * Bring the database to the version of this program, from whatever version it has. Of one in a file that is older, a copy is made
 * before. Throws StartError `stateOlder` for one of protocol 1, `stateNewer` when it is ahead of this program, `failed` where that copy cannot be made, and what the
 * database throws; a version is applied whole or not at all, and in a file all of them together.
 * @param log hears when it is brought forward
 */
export const migrate = (engine: Engine, log?: Log): Promise<void> =>
  engine.session(async (query) => {
    const { copies } = engine
    const from = copies === null ? 0 : await versionIn(query)
    demandKnown(from, engine)
    const copy = from > 0 && from < VERSIONS.length ? copies?.keep(from) : undefined
    for (let more = true; more;) {
      for (const text of engine.lock) await query(text)
      try {
        // Of a crash between two, the next start would keep a copy of the half-way version instead of the one that somebody had.
        more = false
        await query(LEDGER)
        demandKnown(await applied(query), engine)
        for (let reached = 0; reached < FIRST_READ || copies !== null;) {
          const next = await step(query, engine.idType)
          if (next === null) break
          more = true
          reached = next
        }
        await query('commit')
      } catch (error) {
        // The first error says what went wrong; a broken connection cannot roll back, and need not.
        await query('rollback').catch(() => undefined)
        throw error
      }
    }
    if (copy === undefined) return
    copies?.keepOnly(from)
    log?.('info', 'account database brought forward', { from, to: VERSIONS.length, copy })
  })
