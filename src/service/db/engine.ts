/**
 * The two database engines: SQLite in a file, or PostgreSQL if a URL is configured. Only this
 * module knows the differences. Modules that use it do not depend on the engine.
 */
import { Socket } from 'node:net'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import type {
  BinaryOperationNode,
  Dialect,
  Kysely,
  SelectModifierNode,
  SqliteDatabase,
} from 'kysely'
import { DATABASE_DEFAULTS, type DatabaseConfig } from '../../config/database.ts'
import { StartError } from '../../errors.ts'
import { METRICS } from '../../metrics/catalogue.ts'
import { measuredQueries } from '../../metrics/queries.ts'
import { prepareFile } from '../../storage/database-file.ts'
import { prepare } from '../../storage/sqlite.ts'
import { type VersionCopies, versionCopies } from '../../storage/database-copy.ts'
import type { Channel } from './channel.ts'
import type { Schema } from './schema.ts'
import { isOfStandby } from './standby.ts'
import { type Transactions, newTransactions } from './transactions.ts'

/** How long to wait for another program's lock, or for a connection, in milliseconds. */
const PATIENCE_MS = 5000

/** How long PostgreSQL may be silent before the connection counts as lost, in milliseconds. */
const SILENCE_MS = 15_000

/** How long a transaction with a claim may be idle before PostgreSQL ends it, in milliseconds. */
const IDLE_MS = 30_000

/**
 * How long to wait for another transaction's claim, in milliseconds. Meanwhile the request occupies
 * a connection of the pool.
 */
const CLAIM_MS = 500

/** SQLSTATE of a statement that waited too long for a lock. */
const LOCK_TIMEOUT = '55P03'

/** The object id (OID) of PostgreSQL's type for 64-bit integers. */
const INT8 = 20

/** Runs one statement and returns its rows. */
export type Query = (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/**
 * Returns SQL statements for an engine.
 * @param id the engine's SQL type for ids
 * @param unlogged after `create`, makes a table that PostgreSQL does not write to its log. After a
 *   crash, and in a standby, the table is empty. Empty for SQLite.
 */
export type StatementsFor = (id: string, unlogged: string) => readonly string[]

export interface Engine {
  /** The SQL type for ids. It compares byte by byte in every locale, so that ids sort by time. */
  readonly idType: string
  /** The word for tables that may be empty after a crash; see `StatementsFor`. */
  readonly unlogged: string
  /** Whether `with` queries may write. */
  readonly writesInWith: boolean
  /**
   * Copies the database before a migration; null for PostgreSQL, because its operator makes
   * backups.
   */
  readonly copies: VersionCopies | null
  /**
   * Returns the statements that begin a transaction and lock out other programs that migrate. After
   * them, no statement waits longer than `waitMs` milliseconds for a lock of another transaction.
   */
  readonly lock: (waitMs: number) => readonly string[]
  /** Returns whether a statement waited too long for a lock, or was undone by a deadlock. */
  readonly isBlocked: (error: unknown) => boolean
  /** Whether indexes are built by statements of their own, while others write to the table. */
  readonly buildsIndexes: boolean
  /**
   * Runs work on one connection.
   * @param signal closes the connection. PostgreSQL completes a statement that is running.
   */
  session<T>(work: (query: Query) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Returns whether a query failed with a transient error, such as an unreachable database. */
  readonly isAway: (error: unknown) => boolean
  /** Returns the dialect for the query builder, which is loaded at the first query. */
  dialect(): Promise<Dialect>
  /**
   * Runs work in one transaction, which is rolled back if `work` throws. All queries that `work`
   * makes through `db`, and all transactions that it begins, are part of that transaction.
   * @param db the query builder over `dialect`
   */
  readonly atomically: Transactions['atomically']
  /** Runs a transaction, again if the engine undid it because of another one. */
  readonly repeating: Transactions['repeating']
  /**
   * Runs the statement that claims a row until the surrounding transaction ends. If another
   * transaction has claimed the row, the statement waits for its end, but not for long.
   * @returns null if the other transaction did not end; the surrounding transaction is then aborted
   */
  claim<T>(db: Kysely<Schema>, statement: () => Promise<T>): Promise<T | null>
  /** Messages between the processes that use the database; null if only this one uses it. */
  readonly channel: Channel | null
  /** Erases deleted rows from the files that this program writes. */
  scrub(db: Kysely<Schema>): Promise<void>
  close(): Promise<void>
}

/**
 * Marks a file as a Countersign database. The mark also makes a new file non-empty.
 * @see https://sqlite.org/pragma.html#pragma_application_id
 */
const MARK = 'pragma application_id = 0x43736163'

/**
 * Opens SQLite in a file, which is created with mode 0600 if it is missing.
 * @param check called with an existing database before anything is written; throws if the database
 *   must not be opened
 * @throws StartError for a truncated file; the errors of `check`, node:sqlite and node:fs
 */
export function sqlite(file: string, check: (found: DatabaseSync) => void): Engine {
  prepareFile(file, { fill: (made) => made.exec(MARK), check })
  const database = new DatabaseSync(file, {
    timeout: PATIENCE_MS,
    enableForeignKeyConstraints: true,
  })
  // With these settings, committed data survives a power cut
  // (sqlite.org/pragma.html#pragma_synchronous), and deleted and overwritten data is erased from
  // the file (sqlite.org/pragma.html#pragma_secure_delete).
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma secure_delete = on')
  // A checkpoint after every 256 pages (1 MiB) of the write-ahead log. The transaction that fills
  // the log waits for the checkpoint, and others wait with it, so a checkpoint must be short.
  database.exec('pragma wal_autocheckpoint = 256')
  // After a crash, the write-ahead log may still contain deleted data.
  database.exec('pragma wal_checkpoint(truncate)')
  const query: Query = async (text) => database.prepare(text).all()
  const copies = versionCopies(database, file)
  const { joining, atomically, repeating } = newTransactions(
    true,
    () => false,
    () => false,
  )
  return {
    idType: 'text',
    unlogged: '',
    writesInWith: false,
    copies,
    lock: () => ['begin immediate'],
    isBlocked: () => false,
    buildsIndexes: false,
    session: (work) => work(query),
    // SQLite runs in this process, so it is always available.
    isAway: () => false,
    dialect: async () => {
      const { SqliteDialect, SqliteQueryCompiler } = await import('kysely')
      /**
       * Omits row locks (`for update`), which SQLite does not support. SQLite has only one writer
       * at a time.
       */
      class Compiler extends SqliteQueryCompiler {
        protected override visitSelectModifier(node: SelectModifierNode): void {
          if (node.modifier === 'Distinct') super.visitSelectModifier(node)
        }
      }
      const dialect = new SqliteDialect({ database: shim(database) })
      return joining(Object.assign(dialect, { createQueryCompiler: () => new Compiler() }))
    },
    atomically,
    repeating,
    // SQLite has one transaction at a time, so no other claim can exist.
    claim: (_, statement) => statement(),
    channel: null,
    // The write-ahead log and the copies still contain the deleted rows.
    scrub: async (db) => {
      const { sql } = await import('kysely')
      await sql`pragma wal_checkpoint(truncate)`.execute(db)
      copies.forget()
    },
    close: async () => database.close(),
  }
}

/** The maximum number of prepared statements. A list in a query makes one for each length. */
const PREPARED = 500

/**
 * Adapts node:sqlite to the interface of better-sqlite3, which Kysely expects. Each text is
 * prepared once; if there are too many, the one that was unused longest is dropped.
 */
function shim(database: DatabaseSync): SqliteDatabase {
  type Prepared = ReturnType<SqliteDatabase['prepare']>
  const prepared = new Map<string, Prepared>()
  const { measured } = measuredQueries('sqlite')
  const newStatement = (text: string): Prepared => {
    const { isReader, run, all } = prepare<unknown>(database, text)
    type Values = readonly SQLInputValue[]
    return {
      reader: isReader,
      all: (values) => measured(() => all(values as Values)),
      run: (values) => measured(() => run(values as Values)),
      iterate: (values) => measured(() => all(values as Values)).values(),
    }
  }
  return {
    close: () => database.close(),
    prepare: (text) => {
      const found = prepared.get(text) ?? newStatement(text)
      // A Map is ordered by insertion.
      prepared.delete(text)
      prepared.set(text, found)
      if (prepared.size > PREPARED) prepared.delete(prepared.keys().next().value as string)
      return found
    },
  }
}

/** How a list is compared: a list of one value, and a list that is one parameter, an array. */
const COMPARED: Readonly<Record<string, readonly [one: string, list: string]>> = {
  in: ['=', '= any'],
  'not in': ['<>', '<> all'],
}

/**
 * Returns a socket that fails after `silenceMs` milliseconds without data. The driver's own timeout
 * would leave the hanging connection in the pool.
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
 * @param url may contain a password, so no message may include it
 * @param silenceMs how long the connection may be silent, in milliseconds
 */
export async function postgresql(
  url: string,
  { prepare, poolSize, lockTimeoutMs, statementTimeoutMs }: DatabaseConfig = DATABASE_DEFAULTS,
  silenceMs = SILENCE_MS,
): Promise<Engine> {
  // Loaded here because most daemons never use it.
  const [{ default: pg }, { isDirect, nameFault, namingPool }, { isUndone }, { channelOver }] =
    await Promise.all([
      import('pg'),
      import('./named-statements.ts'),
      import('./repeating.ts'),
      import('./channel.ts'),
    ])
  const options = {
    connectionString: url,
    connectionTimeoutMillis: PATIENCE_MS,
    keepAlive: true,
    types: {
      // All 64-bit columns, such as times and the 36-bit words of stamps, have values below 2^53.
      getTypeParser: (id: number, format?: 'text' | 'binary') =>
        id === INT8 ? Number : pg.types.getTypeParser(id, format as 'text'),
    },
  }
  const pool = new pg.Pool({
    ...options,
    max: poolSize,
    // Without a value, none is sent: poolers reject parameters that they do not support.
    ...(lockTimeoutMs > 0 ? { lock_timeout: lockTimeoutMs } : {}),
    ...(statementTimeoutMs > 0 ? { statement_timeout: statementTimeoutMs } : {}),
    stream: () => listening(silenceMs),
  })
  // When a connection breaks, its query fails and the pool removes the connection. An error event
  // is also emitted: by the pool if the connection is idle, otherwise by the connection. Without
  // listeners, these events would end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', () => undefined))
  const ends = [
    METRICS.pool.from(() => [
      [{ state: 'idle' }, pool.idleCount],
      [{ state: 'in_use' }, pool.totalCount - pool.idleCount],
    ]),
    METRICS.poolSize.from(() => [[{}, poolSize]]),
    METRICS.poolWaiting.from(() => [[{}, pool.waitingCount]]),
  ]
  // A lost statement is not executed, and undoes its transaction.
  const isRepeatable = (error: unknown) => isUndone(error) || nameFault(error) !== null
  const { joining, atomically, repeating } = newTransactions(false, isRepeatable, isLost)
  return {
    idType: 'text collate "C"',
    unlogged: 'unlogged',
    writesInWith: true,
    copies: null,
    lock: (waitMs) => [
      'begin',
      'set local lock_timeout = 0',
      'set local statement_timeout = 0',
      // The lock belongs to the transaction, so that it also works through a pooler. Its number is
      // arbitrary, but must be the same in all replicas.
      'select pg_advisory_xact_lock(7215489033114)',
      `set local lock_timeout = ${waitMs}`,
    ],
    isBlocked: (error) => isUndone(error) || codeOf(error) === LOCK_TIMEOUT,
    buildsIndexes: true,
    session: async (work, signal) => {
      // This connection is not from the pool, because a migration may take longer than the pool's
      // timeouts.
      const client = new pg.Client(options)
      client.on('error', () => undefined)
      await client.connect()
      const stop = () => void client.end()
      signal?.addEventListener('abort', stop)
      try {
        signal?.throwIfAborted()
        // Limits that an operator set for requests do not apply to migrations. Through a pooler,
        // these statements would affect other clients, which get the same process later.
        if (await isDirect(client))
          await client.query('set lock_timeout = 0; set statement_timeout = 0')
        return await work(
          async (text) => (await client.query(text)).rows as Record<string, unknown>[],
        )
      } finally {
        signal?.removeEventListener('abort', stop)
        await client.end()
      }
    },
    isAway: (error) => isOutage(error) || isRepeatable(error) || isOfStandby(error),
    dialect: async () => {
      const kysely = await import('kysely')
      const { OperatorNode, PrimitiveValueListNode } = kysely
      /**
       * Passes a list as one array. Otherwise the text of a query would depend on the length of its
       * list, and each length would be planned and prepared separately. A list of one value is
       * compared with the value: PostgreSQL assumes that an unknown array has ten values, so it
       * would plan a named statement at each execution, because a plan for one value costs less.
       */
      class Compiler extends kysely.PostgresQueryCompiler {
        protected override visitBinaryOperation(node: BinaryOperationNode): void {
          const { leftOperand, operator, rightOperand: list } = node
          const comparison = OperatorNode.is(operator) ? COMPARED[operator.operator] : undefined
          if (comparison === undefined || !PrimitiveValueListNode.is(list))
            return super.visitBinaryOperation(node)
          const [one, several] = comparison
          this.visitNode(leftOperand)
          if (list.values.length === 1) {
            this.append(` ${one} `)
            this.appendValue(list.values[0])
            return
          }
          this.append(` ${several}(`)
          this.appendValue(list.values)
          this.append(')')
        }
      }
      const dialect = new kysely.PostgresDialect({ pool: namingPool(pool, prepare) })
      return joining(Object.assign(dialect, { createQueryCompiler: () => new Compiler() }))
    },
    atomically,
    repeating,
    channel: channelOver(() => new pg.Client(options)),
    claim: async (db, statement) => {
      const { sql } = await import('kysely')
      // If a replica's host loses power, its connection stays open. The second timeout then ends
      // its transaction, and the claim with it.
      await sql`select set_config('lock_timeout', ${String(CLAIM_MS)}, true),
        set_config('idle_in_transaction_session_timeout', ${String(IDLE_MS)}, true)`.execute(db)
      try {
        const claimed = await statement()
        await sql`set local lock_timeout to default`.execute(db)
        return claimed
      } catch (error) {
        if (codeOf(error) === LOCK_TIMEOUT) return null
        throw error
      }
    },
    // PostgreSQL manages its own files.
    scrub: async () => undefined,
    close: () => {
      for (const end of ends) end()
      return pool.end()
    },
  }
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code

/**
 * Error codes for an outage or a conflict. They are from the network, or from PostgreSQL when it
 * stops, starts, has no free connection, waited too long for a lock or for a statement, or has
 * aborted one of two conflicting transactions (PostgreSQL manual, appendix A).
 */
const OUTAGE =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08...|57P0[123]|57014|55P03|25P03|53300|40001|40P01)$/
/** Messages of the driver's own errors, which have no code. */
const OUTAGE_SAID =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/

/** Error codes of a connection that ended, or that PostgreSQL ended when it stopped. */
const LOST = /^(ECONNRESET|EPIPE|0800[36]|57P0[12])$/
/** Messages of the driver's own errors for such a connection. */
const LOST_SAID =
  /^(Connection terminated( unexpectedly)?$|Client has encountered a connection error)/

/** Returns whether a connection is lost that had been open, so that another one may work. */
function isLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? LOST.test(code) : LOST_SAID.test(error.message)
}

function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? OUTAGE.test(code) : OUTAGE_SAID.test(error.message)
}

/**
 * Returns the host, port and database name of a URL, for messages. They contain no secret.
 * @throws StartError for a URL in which a password may count as something else
 */
export function databaseAddress(url: string): string {
  const parts = URL.parse(url)
  // A password with a plain slash ends the host too early, and its rest would be in the path.
  if (parts === null || (parts.pathname + parts.search + parts.hash).includes('@'))
    throw new StartError(
      'failed',
      'The URL of the account database is not valid. Write special characters of a password as percent codes, such as %2F for a slash.',
    )
  return parts.host + parts.pathname
}
