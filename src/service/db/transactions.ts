/**
 * A transaction around a whole operation. Each query inside it joins it, and so does each
 * transaction inside it, as a savepoint: a failed part is rolled back alone, without which
 * PostgreSQL would reject all further queries. Queries of other requests stay outside.
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

/** Returns a queue that admits one at a time, in order of arrival. */
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
  /** Its one connection, as the query builder sees it. */
  readonly connection: DatabaseConnection
  /** Makes queries wait while a part is open, which they would otherwise join. */
  readonly queue: Queue
  /** The open part. */
  part: symbol | null
  /** Set at the end: code that is still running then uses connections of its own. */
  over: boolean
}

/** Work that waits for the end of an operation. */
interface Act {
  readonly after: (() => void)[]
  end: 'kept' | 'undone' | null
}

/**
 * The operations of all engines: effects outside the database wait for each operation around
 * them.
 */
const acts = new AsyncLocalStorage<Act>()

/**
 * Runs work after the commit of the surrounding operation, outside of it. After a rollback it
 * never runs, and without an operation it runs immediately. It waits for outer operations too.
 */
export function afterwards(work: () => void): void {
  const act = acts.getStore()
  if (act === undefined || act.end === 'kept') work()
  else if (act.end === null) act.after.push(work)
}

/** Ends an operation and runs the work that waited for it, from outside of it. */
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

/** The statements that make a transaction a part of another. Savepoints of one name nest. */
const PART = {
  begin: ['savepoint part'],
  commit: ['release savepoint part'],
  rollback: ['rollback to savepoint part', 'release savepoint part'],
} as const

export interface Transactions {
  /** Returns the same dialect, whose queries join the surrounding transaction. */
  readonly joining: (dialect: Dialect) => Dialect
  /**
   * Runs work atomically: if it throws, all of it is rolled back. Inside another transaction it
   * is a part of that one.
   * @param db over the dialect that `joining` returned
   */
  readonly atomically: <T, S>(db: Kysely<S>, work: () => Promise<T>) => Promise<T>
}

/**
 * @param single whether the engine has one connection, which transactions and queries share in
 *   turn
 */
export function newTransactions(single: boolean): Transactions {
  const storage = new AsyncLocalStorage<Surrounding>()
  /** The part to which the running code belongs. */
  const parts = new AsyncLocalStorage<symbol>()
  const joined = new WeakMap<DatabaseConnection, Surrounding>()

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
          // The query would wait for the end of the part, which waits for the query.
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
          // The query builder runs the callback after this, in the same asynchronous context. The
          // caller's own code continues in another one.
          parts.enterWith(surrounding.part)
          return say(connection, PART.begin)
        }
        // SQLite: a transaction that reads first and writes later would fail if another program
        // wrote in between.
        if (single) return say(connection, ['begin immediate'])
        // Set regardless of the default of the database: each query sees all earlier commits,
        // including those of the transaction that held a row lock.
        const { isolationLevel = 'read committed' } = settings
        return driver.beginTransaction(connection, { ...settings, isolationLevel })
      },
      commitTransaction: (connection) =>
        joined.has(connection)
          ? say(connection, PART.commit)
          : driver.commitTransaction(connection),
      rollbackTransaction: async (connection) => {
        const part = joined.has(connection)
        if (!part && !single) return driver.rollbackTransaction(connection)
        // SQLite has rolled back by itself if the disk is full, and a broken connection has
        // nothing to roll back. The original error is reported instead.
        await say(connection, part ? PART.rollback : ['rollback']).catch(() => undefined)
      },
    }
  }

  return {
    joining: (dialect) => ({
      createAdapter: () => {
        const adapter = dialect.createAdapter()
        // Otherwise the query builder would queue connections itself, and block queries that join
        // the surrounding transaction.
        return Object.defineProperty(adapter, 'supportsMultipleConnections', { value: true })
      },
      createDriver: () => driverOver(dialect.createDriver()),
      createIntrospector: (db) => dialect.createIntrospector(db),
      createQueryCompiler: () => dialect.createQueryCompiler(),
    }),

    atomically: (db, work) => {
      const act: Act = { after: [], end: null }
      const running = db.transaction().execute(async (trx) => {
        const surrounding = surround(trx)
        try {
          return await storage.run(surrounding, () => acts.run(act, work))
        } finally {
          // Waits for running parts: otherwise half a part would be committed, or fail outside a
          // transaction.
          await surrounding.queue.enter()
          surrounding.over = true
          surrounding.queue.leave()
        }
      })
      return ended(act, running)
    },
  }
}
