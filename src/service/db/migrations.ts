/**
 * Migrates the database of the account server, without downgrades. Each version runs in its own
 * transaction, under a lock that excludes other replicas, and is recorded there. A database of a
 * newer program stays unchanged.
 */
import type { DatabaseSync } from 'node:sqlite'
import { StartError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { type Migrations, isTooOld, supportedBy, tooOld } from '../../storage/migrations.ts'
import { type VersionCopies, versionCopies } from '../../storage/database-copy.ts'
import type { Engine, Query, StatementsFor } from './engine.ts'
import { accountVersion11 } from './migrations/011-initial.ts'

/**
 * A change of the schema is a new file in `migrations/`, its line here, and the new columns in
 * `schema.ts`.
 */
export const ACCOUNT_MIGRATIONS: Migrations<StatementsFor> = [accountVersion11]

export const ACCOUNT_VERSIONS = supportedBy(ACCOUNT_MIGRATIONS)

const LEDGER = `create table if not exists schema_version (
    version integer primary key,
    applied_at text not null default current_timestamp
  )`

/** Returns the statements for the tables and indexes of a version in a new SQLite database. */
export const statementsUntil = (version: number): readonly string[] => [
  LEDGER,
  ...ACCOUNT_MIGRATIONS.filter((one) => one.version <= version).flatMap(({ statements }) =>
    statements('text'),
  ),
]

const HAS_TABLE = `select 1 from sqlite_schema where name = 'schema_version'`
const APPLIED = 'select max(version) as version from schema_version'

/** Returns the newest version that was applied, 0 for none. */
async function applied(query: Query): Promise<number> {
  const [row] = await query(APPLIED)
  return Number(row?.['version'] ?? 0)
}

/** Returns the version of a database in a file, 0 for a new one. */
function versionIn(db: DatabaseSync): number {
  const table = db.prepare(HAS_TABLE).get()
  return table === undefined ? 0 : Number(db.prepare(APPLIED).get()?.['version'] ?? 0)
}

/** Throws StartError for a version that a program with these migrations does not read. */
function requireKnown(
  version: number,
  migrations: Migrations<StatementsFor>,
  copies: VersionCopies | null,
): void {
  const versions = supportedBy(migrations)
  const { newest } = versions
  if (isTooOld(version, versions)) throw tooOld('The account database', version, versions)
  if (version > newest)
    throw new StartError(
      'stateNewer',
      `The account database has version ${version}, this program knows ${newest}: start the newer program.${copies?.advice(newest) ?? ''}`,
    )
}

/**
 * Checks the version of a database in a file. Writes nothing.
 * @throws StartError `stateOlder` for one from before the first release, `stateNewer` for one of a
 *   newer program
 */
export const requireKnownFile = (
  db: DatabaseSync,
  path: string,
  migrations: Migrations<StatementsFor> = ACCOUNT_MIGRATIONS,
): void => requireKnown(versionIn(db), migrations, versionCopies(db, path))

/**
 * Migrates the database from any supported version to the newest one. An older database in a file
 * is copied first; `requireKnownFile` has checked its version. Each version is applied completely
 * or not at all; in a file, all versions together are.
 * @param log receives a message for a migration
 * @throws StartError `stateOlder` for a database from before the first release, `stateNewer` for
 *   one of a newer program, `failed` if the copy cannot be made; and the errors of the database
 */
export const migrate = (
  engine: Engine,
  log?: Log,
  migrations: Migrations<StatementsFor> = ACCOUNT_MIGRATIONS,
): Promise<void> =>
  engine.session(async (query) => {
    const { copies, idType } = engine
    const { newest } = supportedBy(migrations)

    /** Applies the next version. Returns false if there was none. */
    async function step(): Promise<boolean> {
      const current = await applied(query)
      const next = migrations.find(({ version }) => version > current)
      if (next === undefined) return false
      for (const text of next.statements(idType)) await query(text)
      await query(`insert into schema_version (version) values (${next.version})`)
      return true
    }

    const isOld = copies !== null && (await query(HAS_TABLE)).length > 0
    const from = isOld ? await applied(query) : 0
    const copy = from > 0 && from < newest ? copies?.keep(from) : undefined
    for (let more = true; more;) {
      for (const text of engine.lock) await query(text)
      try {
        await query(LEDGER)
        // Under the lock, each program sees the changes of the one before it.
        requireKnown(await applied(query), migrations, copies)
        more = await step()
        // All versions in one transaction in a file: after a crash in between, the next start
        // would replace the copy of the original version by one of the intermediate version.
        while (more && copies !== null) more = await step()
        await query('commit')
      } catch (error) {
        // The first error has the cause. A broken connection cannot roll back, and need not.
        await query('rollback').catch(() => undefined)
        throw error
      }
    }
    if (copy === undefined) return
    copies?.keepOnly(from)
    log?.('info', 'account database migrated', { from, to: newest, copy })
  })
