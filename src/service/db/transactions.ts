/**
 * Runs a whole operation in one transaction. Each query that the operation makes becomes part of
 * that transaction. Each transaction that the operation begins becomes a savepoint (a "part"), so
 * that a failed part can be rolled back without the rest; without a savepoint, PostgreSQL would
 * reject all later queries. Queries of other requests are not affected.
 *
 * If the database undoes a transaction because of another one, the transaction is repeated. Effects
 * outside the database wait for the commit (`afterwards`), so they happen once.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type {
  CompiledQuery,
  DatabaseConnection,
  Dialect,
  Driver,
  Kysely,
  Transaction,
} from 'kysely'
import { repeated } from './repeating.ts'

/** Returns a queue that admits one caller at a time, in the order of arrival. */
function newQueue() {
  const waiting: (() => void)[] = []
  let taken = false
  return {
    enter: async (): Promise<void> => {
      if (taken) return new Promise((resolve) => void waiting.push(resolve))
      taken = true
    },
    leave: (): void => {
      const next = waiting.shift()
      if (next === undefined) taken = false
      else next()
    },
  }
}

type Queue = ReturnType<typeof newQueue>

/** The transaction that surrounds the running code. */
interface Surrounding {
  /** The transaction's connection, in the form that the query builder expects. */
  readonly connection: DatabaseConnection
  /** Queries wait here while a part is open, because otherwise they would become part of it. */
  readonly queue: Queue
  /** The open part; null if there is none. */
  part: symbol | null
  /**
   * Set when the transaction ends. Code that is still running after that uses other connections.
   */
  over: boolean
}

/** An operation or a transaction, with the work that waits for its end. */
interface Act {
  readonly after: (() => void)[]
  end: 'kept' | 'undone' | null
}

/**
 * The operation or transaction to which the running code belongs, regardless of the engine. Effects
 * outside the database wait for the end of all that are around them.
 */
const acts = new AsyncLocalStorage<Act>()

/**
 * Runs work after the surrounding operation or transaction is committed, outside of it. It also
 * waits for outer ones. If it is rolled back, the work never runs. If there is none, the work runs
 * immediately.
 */
export function afterwards(work: () => void): void {
  const act = acts.getStore()
  if (act === undefined || act.end === 'kept') work()
  else if (act.end === null) act.after.push(work)
}

/** Waits for the end of an act, and then runs the work that waited for its commit. */
async function ended<T>(act: Act, running: Promise<T>): Promise<T> {
  try {
    const value = await running
    act.end = 'kept'
    act.after.forEach(afterwards)
    return value
  } finally {
    act.end ??= 'undone'
  }
}

/**
 * The statements with which a transaction becomes a part of another. Savepoints with the same name
 * can be nested.
 */
const PART = {
  begin: ['savepoint part'],
  commit: ['release savepoint part'],
  rollback: ['rollback to savepoint part', 'release savepoint part'],
} as const

export interface Transactions {
  /** Wraps a dialect, so that its queries become part of the surrounding transaction. */
  readonly joining: (dialect: Dialect) => Dialect
  /**
   * Runs work in one transaction, which is rolled back if `work` throws. Inside another
   * transaction, it becomes a part of that transaction. The work may run several times.
   * @param db the query builder. Its dialect must come from `joining`.
   */
  readonly atomically: <T, S>(db: Kysely<S>, work: () => Promise<T>) => Promise<T>
  /**
   * Runs a whole transaction, again if the database undid it because of another one. Inside another
   * transaction it runs once, because that transaction is undone as well.
   */
  readonly repeating: <T>(transaction: () => Promise<T>) => Promise<T>
}

/**
 * Creates the transactions of one engine.
 * @param single whether the engine has only one connection, which transactions and queries use one
 *   after the other
 * @param isUndone whether an error means that the database has undone the transaction because of
 *   another one
 * @param isLost whether an error means that the connection is lost. Then the database has undone
 *   the transaction, unless it was being committed.
 */
export function newTransactions(
  single: boolean,
  isUndone: (error: unknown) => boolean,
  isLost: (error: unknown) => boolean,
): Transactions {
  const storage = new AsyncLocalStorage<Surrounding>()
  /** The part to which the running code belongs, if any. */
  const parts = new AsyncLocalStorage<symbol>()
  const joined = new WeakMap<DatabaseConnection, Surrounding>()
  /** The outermost transaction around the running code, which alone is repeated. */
  const repeats = new AsyncLocalStorage<{ over: boolean }>()
  /** Errors of commits, after which it is not known whether the database has committed. */
  const uncertain = new WeakSet<object>()
  const isRepeatable = (error: unknown) =>
    isUndone(error) || (isLost(error) && !uncertain.has(error as object))

  function surround<S>(trx: Transaction<S>): Surrounding {
    const surrounding: Surrounding = {
      connection: {
        executeQuery: <R>(query: CompiledQuery) => trx.executeQuery<R>(query as CompiledQuery<R>),
        streamQuery: () => {
          throw new Error('Queries inside a transaction are not streamed.')
        },
      },
      queue: newQueue(),
      part: null,
      over: false,
    }
    joined.set(surrounding.connection, surrounding)
    return surrounding
  }

  function driverOver(driver: Driver): Driver {
    const turns = single ? newQueue() : null
    let raw: typeof CompiledQuery.raw
    const say = async (connection: DatabaseConnection, statements: readonly string[]) => {
      for (const text of statements) await connection.executeQuery(raw(text))
    }
    return {
      init: async (options) => {
        ;({
          CompiledQuery: { raw },
        } = await import('kysely'))
        await driver.init(options)
      },
      destroy: (options) => driver.destroy(options),
      acquireConnection: async (options) => {
        const surrounding = storage.getStore()
        if (surrounding !== undefined) {
          // Otherwise the query would wait for the end of the part, and the part for the query.
          if (surrounding.part !== null && surrounding.part === parts.getStore())
            throw new Error('Inside db.transaction(), ask the transaction it gives, not db.')
          await surrounding.queue.enter()
          if (!surrounding.over) return surrounding.connection
          surrounding.queue.leave()
        }
        await turns?.enter()
        try {
          return await driver.acquireConnection(options)
        } catch (error) {
          turns?.leave()
          throw error
        }
      },
      releaseConnection: async (connection, options) => {
        const surrounding = joined.get(connection)
        if (surrounding !== undefined) {
          surrounding.part = null
          surrounding.queue.leave()
          return
        }
        await driver.releaseConnection(connection, options)
        turns?.leave()
      },
      beginTransaction: (connection, settings) => {
        const surrounding = joined.get(connection)
        if (surrounding !== undefined) {
          surrounding.part = Symbol('part')
          // `enterWith` affects only the callback of the transaction. The query builder calls it in
          // this same asynchronous context, while the caller's own code continues in another one.
          parts.enterWith(surrounding.part)
          return say(connection, PART.begin)
        }
        // On SQLite, a transaction that begins with a read would fail at its first write if another
        // program has written in between. `begin immediate` prevents that.
        if (single) return say(connection, ['begin immediate'])
        // Set explicitly, because the database may have another default. With `read committed`,
        // each query sees everything committed before, also by a transaction that released a row
        // lock for which the query waited.
        const { isolationLevel = 'read committed' } = settings
        return driver.beginTransaction(connection, { ...settings, isolationLevel })
      },
      commitTransaction: async (connection) => {
        if (joined.has(connection)) return say(connection, PART.commit)
        try {
          await driver.commitTransaction(connection)
        } catch (error) {
          if (error instanceof Error) uncertain.add(error)
          throw error
        }
      },
      rollbackTransaction: async (connection) => {
        const part = joined.has(connection)
        const rollback =
          !part && !single
            ? driver.rollbackTransaction(connection)
            : say(connection, part ? PART.rollback : ['rollback'])
        // If the disk is full, SQLite has already rolled back, and a broken connection has nothing
        // to roll back. An error of this rollback is ignored, so that the original error is
        // reported.
        await rollback.catch(() => undefined)
      },
    }
  }

  const repeating: Transactions['repeating'] = async (transaction) => {
    if (repeats.getStore()?.over === false) return transaction()
    const outermost = { over: false }
    const attempt = () => {
      const act: Act = { after: [], end: null }
      return ended(
        act,
        repeats.run(outermost, () => acts.run(act, transaction)),
      )
    }
    try {
      return await repeated(attempt, isRepeatable)
    } finally {
      outermost.over = true
    }
  }

  return {
    repeating,

    joining: (dialect) => ({
      createAdapter: () => {
        const adapter = dialect.createAdapter()
        // Without this, the query builder would queue for the connection itself, and so block
        // queries that are part of the surrounding transaction.
        return Object.defineProperty(adapter, 'supportsMultipleConnections', { value: true })
      },
      createDriver: () => driverOver(dialect.createDriver()),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => dialect.createQueryCompiler(),
    }),

    atomically: (db, work) =>
      repeating(() => {
        const act: Act = { after: [], end: null }
        const running = db.transaction().execute(async (trx) => {
          const surrounding = surround(trx)
          try {
            return await storage.run(surrounding, () => acts.run(act, work))
          } finally {
            // Waits for parts that are still running. Otherwise an unfinished part would be
            // committed, or would fail outside a transaction.
            await surrounding.queue.enter()
            surrounding.over = true
            surrounding.queue.leave()
          }
        })
        return ended(act, running)
      }),
  }
}
