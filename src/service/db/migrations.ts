/**
 * Migrates the account server's database to newer versions; there are no downgrades. Each version
 * is applied and recorded in one transaction, under a lock that excludes other replicas. The
 * database of a newer program stays unchanged.
 *
 * While a statement waits to change a table, PostgreSQL makes all later statements on the table
 * wait behind it. So a migration waits only briefly for a lock, and is repeated after a pause in
 * which the statements of other servers run.
 */
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { StartError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { isTooOld, supportedBy, tooOld } from '../../storage/migrations.ts'
import { type VersionCopies, versionCopies } from '../../storage/database-copy.ts'
import type { Engine, Query } from './engine.ts'
import { type AccountMigration, type Index, creationOf } from './indexes.ts'
import { accountVersion11 } from './migrations/011-initial.ts'
import { accountVersion12 } from './migrations/012-used-proofs.ts'
import { accountVersion13 } from './migrations/013-sync-marks.ts'
import { accountVersion14 } from './migrations/014-public-words.ts'
import { accountVersion15 } from './migrations/015-retention.ts'
import { accountVersion16 } from './migrations/016-used-proofs-in-order.ts'
import { accountVersion17 } from './migrations/017-marks-of-lists.ts'
import { accountVersion18 } from './migrations/018-ending-guest-codes.ts'
import { accountVersion19 } from './migrations/019-marks-of-devices.ts'

type AccountMigrations = readonly [AccountMigration, ...AccountMigration[]]

/**
 * All migrations. To change the schema, add a file to `migrations/`, add it to this list, and add
 * the new columns to `schema.ts`.
 */
export const ACCOUNT_MIGRATIONS: AccountMigrations = [
  accountVersion11,
  accountVersion12,
  accountVersion13,
  accountVersion14,
  accountVersion15,
  accountVersion16,
  accountVersion17,
  accountVersion18,
  accountVersion19,
]

export const ACCOUNT_VERSIONS = supportedBy(ACCOUNT_MIGRATIONS)

/** The indexes of all versions that are not built by migrations of large databases. */
export const ACCOUNT_INDEXES: readonly Index[] = ACCOUNT_MIGRATIONS.flatMap(
  ({ indexes = [] }) => indexes,
)

/** How long a migration waits for locks of other transactions. */
export interface LockPatience {
  /** How long one statement waits, in milliseconds. All requests to its table wait with it. */
  readonly waitMs: number
  /** How often a version is tried. */
  readonly attempts: number
  /** The pause before the second attempt, in milliseconds. It doubles up to `longestMs`. */
  readonly pauseMs: number
  readonly longestMs: number
}

/** About two minutes in total. */
const PATIENCE: LockPatience = { waitMs: 2000, attempts: 14, pauseMs: 1000, longestMs: 10_000 }

const LEDGER = `create table if not exists schema_version (
    version integer primary key,
    applied_at text not null default current_timestamp
  )`

/** Returns the statements that create a new SQLite database of a version. */
export const statementsUntil = (version: number): readonly string[] => [
  LEDGER,
  ...ACCOUNT_MIGRATIONS.filter((one) => one.version <= version).flatMap(
    ({ statements, indexes = [] }) => [
      ...statements('text', ''),
      ...indexes.map((index) => creationOf(index, false)),
    ],
  ),
]

const HAS_TABLE = `select 1 from sqlite_schema where name = 'schema_version'`
const APPLIED = 'select max(version) as version from schema_version'

/** Returns the newest version that was applied; 0 if there is none. */
async function applied(query: Query): Promise<number> {
  const [row] = await query(APPLIED)
  return Number(row?.['version'] ?? 0)
}

/** Returns the version of an SQLite database; 0 for a new one. */
function versionIn(db: DatabaseSync): number {
  const table = db.prepare(HAS_TABLE).get()
  return table === undefined ? 0 : Number(db.prepare(APPLIED).get()?.['version'] ?? 0)
}

/** Throws StartError for a version that a program with these migrations does not support. */
function requireKnown(
  version: number,
  migrations: AccountMigrations,
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
 * Checks the version of an SQLite database without writing to it.
 * @throws StartError `stateOlder` for a version from before the first release, `stateNewer` for a
 *   version of a newer program
 */
export const requireKnownFile = (
  db: DatabaseSync,
  path: string,
  migrations: AccountMigrations = ACCOUNT_MIGRATIONS,
): void => requireKnown(versionIn(db), migrations, versionCopies(db, path))

const OLDEST = `select pid, xact_start from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
    and backend_type = 'client backend'
  order by xact_start limit 1`

/** Returns the error for a version that could not be applied because of other transactions. */
async function blocked(
  query: Query,
  version: number,
  { attempts, waitMs }: LockPatience,
  cause: unknown,
): Promise<StartError> {
  const [oldest] = await query(OLDEST).catch(() => [])
  const pid = Number(oldest?.['pid'])
  const remedy =
    oldest === undefined
      ? 'End the long transactions of this database (PostgreSQL lists them in pg_stat_activity), then start the server again.'
      : `The oldest open transaction belongs to the PostgreSQL process ${pid}, since ${(oldest['xact_start'] as Date).toISOString()}. Wait until it has ended, or end it with "select pg_terminate_backend(${pid})". Then start the server again.`
  return new StartError(
    'failed',
    `The account database was not migrated to version ${version}: at each of ${attempts} attempts, another transaction held a lock on a table for longer than ${waitMs} ms. Nothing of this version was applied. ${remedy}`,
    cause,
  )
}

/**
 * Migrates the database from any supported version to the newest. An SQLite database is copied
 * first; the caller must have checked it with `requireKnownFile`. Each version is applied
 * completely or not at all. On SQLite, all versions are applied in one transaction. In PostgreSQL,
 * `ACCOUNT_INDEXES` may still have to be built after it.
 * @param log receives a message if the database was migrated, and for each attempt that was blocked
 * @throws StartError `stateOlder` for a database from before the first release, `stateNewer` for
 *   the database of a newer program, `failed` if the copy cannot be made or other transactions
 *   block the migration; and errors of the database
 */
export const migrate = (
  engine: Engine,
  log?: Log,
  migrations: AccountMigrations = ACCOUNT_MIGRATIONS,
  patience: LockPatience = PATIENCE,
): Promise<void> =>
  engine.session(async (query) => {
    const { copies, idType, unlogged, buildsIndexes } = engine
    const { newest } = supportedBy(migrations)
    let isNew = false
    /** The version that is being applied. */
    let target = newest

    /** Applies the next version. Returns false if the database already has the newest version. */
    async function step(): Promise<boolean> {
      const current = await applied(query)
      const next = migrations.find(({ version }) => version > current)
      if (next === undefined) return false
      isNew ||= current === 0
      const { indexes = [], version } = next
      target = version
      for (const text of next.statements(idType, unlogged)) await query(text)
      // The tables of a new database are empty.
      if (isNew || !buildsIndexes)
        for (const index of indexes) await query(creationOf(index, false))
      await query(`insert into schema_version (version) values (${version})`)
      return true
    }

    /** Applies the next versions in one transaction. Returns whether there may be more. */
    async function transaction(): Promise<boolean> {
      try {
        for (const text of engine.lock(patience.waitMs)) await query(text)
        await query(LEDGER)
        // The version is read under the lock, so that it includes what other programs applied
        // before.
        requireKnown(await applied(query), migrations, copies)
        let more = await step()
        // On SQLite, all versions are applied in this one transaction. If there were a transaction
        // for each, the next start after a crash would replace the copy of the original version
        // with a copy of an intermediate version.
        while (more && copies !== null) more = await step()
        await query('commit')
        return more
      } catch (error) {
        // Only the first error is reported, because it has the cause. If the connection is broken,
        // the rollback fails, but is not needed.
        await query('rollback').catch(() => undefined)
        throw error
      }
    }

    /** Repeats the transaction while other transactions block it. */
    async function repeatedTransaction(): Promise<boolean> {
      const { attempts, pauseMs, longestMs } = patience
      for (let attempt = 1; ; attempt++)
        try {
          return await transaction()
        } catch (error) {
          if (!engine.isBlocked(error)) throw error
          if (attempt === attempts) throw await blocked(query, target, patience, error)
          const longest = Math.min(longestMs, pauseMs * 2 ** (attempt - 1))
          log?.('warn', 'migration waits for another transaction', { version: target, attempt })
          // Random, so that several servers do not try at the same time.
          await setTimeout(longest * (0.5 + Math.random() / 2))
        }
    }

    const isOld = copies !== null && (await query(HAS_TABLE)).length > 0
    const from = isOld ? await applied(query) : 0
    const copy = from > 0 && from < newest ? copies?.keep(from) : undefined
    for (let more = true; more;) more = await repeatedTransaction()
    if (copy === undefined) return
    copies?.keepOnly(from)
    log?.('info', 'account database migrated', { from, to: newest, copy })
  })
