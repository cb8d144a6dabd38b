/**
 * The two engines an account server may stand on: SQLite in a file, or PostgreSQL when a URL names one. What they say
 * differently is said here; nothing above this file asks which it is.
 */
import { Socket } from 'node:net'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { Dialect, Kysely, SqliteDatabase } from 'kysely'
import { StartError } from '../../errors.ts'
import { prepareFile } from '../../storage/database-file.ts'
import { guarded } from '../../storage/sqlite.ts'
import { type VersionCopies, versionCopies } from '../../storage/version-copy.ts'
import type { Schema } from './schema.ts'
import { type Transactions, newTransactions } from './transactions.ts'

/** How long to wait for another program's lock, or for a connection. */
const PATIENCE_MS = 5000

/** How long PostgreSQL may say nothing while it is asked something: it, or the way to it, is gone without a word. */
const SILENCE_MS = 15_000

/** How long a transaction that has claimed something may wait for its own program. */
const IDLE_MS = 30_000

/** The object id of PostgreSQL's 64-bit integer. */
const INT8 = 20

/** Runs one statement and gives back its rows. */
export type Query = (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

export interface Engine {
  /** The type of ids. They are compared byte by byte, whatever the locale of the database: their order is that of time. */
  readonly idType: string
  /** Where a copy goes before the schema changes; null where whoever runs the database keeps one. */
  readonly copies: VersionCopies | null
  /** Begins a transaction that no other migrating program can be inside of. */
  readonly lock: readonly string[]
  /** Do something on one connection. */
  session<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** Whether a query failed for what passes, such as a database out of reach, and not for what it asked. */
  readonly isAway: (error: unknown) => boolean
  /** For the query builder, which is loaded when there is something to query. */
  dialect(): Promise<Dialect>
  /**
   * Do something whole or not at all: every query that `work` makes through `db`, and every transaction that it begins, is part
   * of one transaction, and when it throws, nothing of it stays.
   * @param db the query builder over `dialect`
   */
  readonly atomically: Transactions['atomically']
  /**
   * Keep others from what has this name until the transaction around this is over; false when somebody has it already.
   * @param name a whole number of 64 bits
   */
  claim(db: Kysely<Schema>, name: bigint): Promise<boolean>
  /** Leave nothing readable, in the files that this program writes, of rows that were deleted. */
  scrub(db: Kysely<Schema>): Promise<void>
  close(): Promise<void>
}

/** Marks a file as ours (sqlite.org/pragma.html#pragma_application_id), so that from its first moment on it is not empty. */
const MARK = 'pragma application_id = 0x43736163'

/**
 * Open SQLite in a file, made with mode 0600 where it is missing.
 * @throws StartError for a file that is cut short; what node:sqlite and node:fs throw
 */
export function sqlite(file: string): Engine {
  prepareFile(file, {
    fill: (made) => made.exec(MARK),
    look: (found) => void found.prepare('select count(*) from sqlite_schema').get(),
  })
  const database = new DatabaseSync(file, {
    timeout: PATIENCE_MS,
    enableForeignKeyConstraints: true,
  })
  // An answer that was given outlives a power cut (sqlite.org/pragma.html#pragma_synchronous).
  // What is deleted or overwritten is gone from the file as well (sqlite.org/pragma.html#pragma_secure_delete).
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on')
  // Whoever fills the log waits for it to be written back, and everybody else with them: a mebibyte at a time.
  database.exec('pragma wal_autocheckpoint = 256')
  // Nor may the write-ahead log hold it after a crash.
  database.exec('pragma wal_checkpoint(truncate)')
  const query: Query = async (text) => database.prepare(text).all()
  const copies = versionCopies(database, file)
  const { joining, atomically } = newTransactions(true)
  return {
    idType: 'text',
    copies,
    lock: ['begin immediate'],
    session: (work) => work(query),
    // It is in this process.
    isAway: () => false,
    dialect: async () => {
      const [{ SqliteDialect }, { newCompiler }] = await Promise.all([
        import('kysely'),
        import('./sqlite-compiler.ts'),
      ])
      const dialect = new SqliteDialect({ database: shim(database) })
      return joining(Object.assign(dialect, { createQueryCompiler: newCompiler }))
    },
    atomically,
    // There is one transaction at a time.
    claim: async () => true,
    // The write-ahead log still holds the rows as they were written, and a copy those of its day.
    scrub: async (db) => {
      const { sql } = await import('kysely')
      await sql`pragma wal_checkpoint(truncate)`.execute(db)
      copies.forget()
    },
    close: async () => database.close(),
  }
}

/** node:sqlite in the form that Kysely expects of better-sqlite3. */
const shim = (database: DatabaseSync): SqliteDatabase => ({
  close: () => database.close(),
  prepare: (text) => {
    const statement = database.prepare(text)
    const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
    return {
      reader: statement.columns().length > 0,
      all: (parameters) => guarded(() => statement.all(...values(parameters))),
      run: (parameters) => guarded(() => statement.run(...values(parameters))),
      iterate: (parameters) => statement.iterate(...values(parameters)),
    }
  },
})

/** A connection that nothing comes from ends with an error: the driver's own time-out would leave it in the pool, still waiting. */
function listening(silenceMs: number): Socket {
  const socket = new Socket()
  return socket.setTimeout(silenceMs, () =>
    socket.destroy(Object.assign(new Error('The database says nothing.'), { code: 'ETIMEDOUT' })),
  )
}

/**
 * Open a pool of connections to PostgreSQL. Nothing is asked of the server yet.
 * @param url holds the password, so it is in no message
 * @param silenceMs how long the answer to a query may take to begin
 */
export async function postgresql(url: string, silenceMs = SILENCE_MS): Promise<Engine> {
  // Loaded here because most daemons never use it.
  const { default: pg } = await import('pg')
  const options = {
    connectionString: url,
    connectionTimeoutMillis: PATIENCE_MS,
    keepAlive: true,
    types: {
      // Times and 36-bit words are below 2^53.
      getTypeParser: (id: number, format?: 'text' | 'binary') =>
        id === INT8 ? Number : pg.types.getTypeParser(id, format as 'text'),
    },
  }
  const pool = new pg.Pool({ ...options, stream: () => listening(silenceMs) })
  // A connection that breaks fails its query, if it has one, and leaves the pool by itself. It also says so in an event, as the
  // pool's while idle and its own while in use; without a listener either would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const { joining, atomically } = newTransactions(false)
  return {
    idType: 'text collate "C"',
    copies: null,
    // Any number will do, as long as every replica takes the same.
    lock: ['begin', 'select pg_advisory_xact_lock(7215489033114)'],
    session: async (work) => {
      // Not of the pool: what is done here, a migration, may take its time.
      const client = new pg.Client(options)
      client.on('error', () => undefined)
      await client.connect()
      try {
        return await work(
          async (text) => (await client.query(text)).rows as Record<string, unknown>[],
        )
      } finally {
        await client.end()
      }
    },
    isAway: isOutage,
    dialect: async () => {
      const { PostgresDialect } = await import('kysely')
      return joining(new PostgresDialect({ pool }))
    },
    atomically,
    claim: async (db, name) => {
      const { sql } = await import('kysely')
      // A replica whose machine lost its power does not say so: its transaction, and what it claimed, ends by itself.
      const { rows } = await sql<{ claimed: boolean }>`
        select pg_try_advisory_xact_lock(${name.toString()}::bigint) as claimed,
          set_config('idle_in_transaction_session_timeout', ${String(IDLE_MS)}, true)`.execute(db)
      return rows[0]?.claimed === true
    },
    // Its files are the operator's: it cleans up after itself.
    scrub: async () => undefined,
    close: () => pool.end(),
  }
}

/**
 * What the network says, and PostgreSQL when it stops, starts, has no room for one more, or ended one of two transactions that
 * stood in each other's way (its manual, appendix A).
 */
const OUTAGE =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08...|57P0[123]|25P03|53300|40001|40P01)$/
/** The driver's own errors have no code. */
const OUTAGE_SAID =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/

function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? OUTAGE.test(code) : OUTAGE_SAID.test(error.message)
}

/** Host, port and database of a URL: its harmless parts, for messages. */
export function addressOf(url: string): string {
  if (!URL.canParse(url))
    throw new StartError('failed', 'The URL of the account database is not a URL.')
  const { host, pathname } = new URL(url)
  return host + pathname
}
