/**
 * The two database engines: SQLite in a file, or PostgreSQL if a URL names one. The differences
 * between them are in this module; the modules above do not depend on the engine.
 */
import { Socket } from 'node:net'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type { Dialect, Kysely, SelectModifierNode, SqliteDatabase } from 'kysely'
import { StartError } from '../../errors.ts'
import { prepareFile } from '../../storage/database-file.ts'
import { guarded } from '../../storage/sqlite.ts'
import { type VersionCopies, versionCopies } from '../../storage/database-copy.ts'
import type { Schema } from './schema.ts'
import { type Transactions, newTransactions } from './transactions.ts'

/** How long to wait for another program's lock, or for a connection. */
const PATIENCE_MS = 5000

/** How long PostgreSQL may take to respond before the connection counts as lost. */
const SILENCE_MS = 15_000

/** How long a transaction with a claim may wait for its own program. */
const IDLE_MS = 30_000

/** The object id of PostgreSQL's 64-bit integer. */
const INT8 = 20

/** Runs one statement and returns its rows. */
export type Query = (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** Returns statements for an engine, given its SQL type of ids. */
export type StatementsFor = (id: string) => readonly string[]

export interface Engine {
  /**
   * The SQL type of ids, which compares byte by byte in every locale, so that ids sort by time.
   */
  readonly idType: string
  /**
   * Makes a copy before the schema changes; null if the operator of the database makes backups.
   */
  readonly copies: VersionCopies | null
  /** The statements that begin a transaction which excludes other migrating programs. */
  readonly lock: readonly string[]
  /** Runs work on one connection. */
  session<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** Returns whether a query failed with a transient error, such as an unreachable database. */
  readonly isAway: (error: unknown) => boolean
  /** Returns the dialect for the query builder, which is loaded at the first query. */
  dialect(): Promise<Dialect>
  /**
   * Runs work atomically. Each query that `work` makes through `db`, and each transaction that it
   * begins, is part of one transaction, which is rolled back if `work` throws.
   * @param db the query builder over `dialect`
   */
  readonly atomically: Transactions['atomically']
  /**
   * Claims a name until the surrounding transaction ends. Returns false if another claim of it
   * exists.
   * @param name an integer of 64 bits
   */
  claim(db: Kysely<Schema>, name: bigint): Promise<boolean>
  /** Removes the content of deleted rows from the files that this program writes. */
  scrub(db: Kysely<Schema>): Promise<void>
  close(): Promise<void>
}

/**
 * Marks a file as a Countersign database, which also makes it non-empty from the start.
 * @see https://sqlite.org/pragma.html#pragma_application_id
 */
const MARK = 'pragma application_id = 0x43736163'

/**
 * Opens SQLite in a file, which is created with mode 0600 if it is missing.
 * @param look throws for an existing database that must not be opened, before anything is written
 * @throws StartError for a truncated file; the errors of `look`, node:sqlite and node:fs
 */
export function sqlite(file: string, look: (found: DatabaseSync) => void): Engine {
  prepareFile(file, { fill: (made) => made.exec(MARK), look })
  const database = new DatabaseSync(file, {
    timeout: PATIENCE_MS,
    enableForeignKeyConstraints: true,
  })
  // Committed data survives a power cut (sqlite.org/pragma.html#pragma_synchronous). Deleted and
  // overwritten data is removed from the file (sqlite.org/pragma.html#pragma_secure_delete).
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on')
  // The transaction that fills the log waits for its checkpoint, and all others with it: one
  // mebibyte at a time keeps that short.
  database.exec('pragma wal_autocheckpoint = 256')
  // The write-ahead log may hold deleted data after a crash.
  database.exec('pragma wal_checkpoint(truncate)')
  const query: Query = async (text) => database.prepare(text).all()
  const copies = versionCopies(database, file)
  const { joining, atomically } = newTransactions(true)
  return {
    idType: 'text',
    copies,
    lock: ['begin immediate'],
    session: (work) => work(query),
    // It runs in this process.
    isAway: () => false,
    dialect: async () => {
      const { SqliteDialect, SqliteQueryCompiler } = await import('kysely')
      /** Omits the row locks that SQLite does not support: its single writer locks all rows. */
      class Compiler extends SqliteQueryCompiler {
        protected override visitSelectModifier(node: SelectModifierNode): void {
          if (node.modifier === 'Distinct') super.visitSelectModifier(node)
        }
      }
      const dialect = new SqliteDialect({ database: shim(database) })
      return joining(Object.assign(dialect, { createQueryCompiler: () => new Compiler() }))
    },
    atomically,
    // There is one transaction at a time.
    claim: async () => true,
    // The write-ahead log still holds the deleted rows, and so do the copies.
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

/**
 * Returns a socket that fails after a time without data. The driver's own time-out would leave
 * the connection in the pool, still waiting.
 */
function listening(silenceMs: number): Socket {
  const socket = new Socket()
  return socket.setTimeout(silenceMs, () =>
    socket.destroy(
      Object.assign(new Error('The database does not answer.'), { code: 'ETIMEDOUT' }),
    ),
  )
}

/**
 * Opens a pool of connections to PostgreSQL. It connects at the first query.
 * @param url contains the password, so no message includes it
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
  // A broken connection fails its query, if any, and leaves the pool by itself. It also emits an
  // error event, on the pool while idle and on itself while in use. Without a listener, either
  // would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const { joining, atomically } = newTransactions(false)
  return {
    idType: 'text collate "C"',
    copies: null,
    // An arbitrary number, the same in every replica.
    lock: ['begin', 'select pg_advisory_xact_lock(7215489033114)'],
    session: async (work) => {
      // Outside the pool, because a migration may take longer than the time-outs of the pool.
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
      // If the host of a replica loses power, its connection does not close. The time-out ends
      // its transaction and claims.
      const { rows } = await sql<{ claimed: boolean }>`
        select pg_try_advisory_xact_lock(${name.toString()}::bigint) as claimed,
          set_config('idle_in_transaction_session_timeout', ${String(IDLE_MS)}, true)`.execute(db)
      return rows[0]?.claimed === true
    },
    // The database files belong to PostgreSQL, which cleans up after itself.
    scrub: async () => undefined,
    close: () => pool.end(),
  }
}

/**
 * Error codes of an outage or a conflict. They come from the network, and from PostgreSQL when it
 * stops, starts, has no free connection, or ended one of two conflicting transactions (PostgreSQL
 * manual, appendix A).
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

/** Returns host, port and database of a URL, the parts without secrets, for messages. */
export function databaseAddress(url: string): string {
  if (!URL.canParse(url))
    throw new StartError('failed', 'The URL of the account database is not valid.')
  const { host, pathname } = new URL(url)
  return host + pathname
}
