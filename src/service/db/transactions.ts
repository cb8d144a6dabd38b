/**
 * A transaction around whatever an answer does. Every query made inside it joins it, and so does every transaction begun
 * inside it, as a savepoint: a failed part is undone alone, which PostgreSQL needs to go on at all. What other requests ask
 * meanwhile stays outside.
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

/** One at a time, in the order in which they came. */
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

/** The transaction that surrounds the code that runs. */
interface Surrounding {
  /** Its one connection, as the query builder sees it. */
  readonly connection: DatabaseConnection
  /** A query that came while a part is under way would become part of that part. */
  readonly queue: Queue
  /** The part that is under way. */
  part: symbol | null
  /** What an answer left running may ask on when it is over. */
  over: boolean
}

/** What waits for the end of an act. */
interface Act {
  readonly after: (() => void)[]
  end: 'kept' | 'undone' | null
}

/** The acts of all engines: what goes out to the world waits for each that it comes of. */
const acts = new AsyncLocalStorage<Act>()

/**
 * Do something once the act around this is kept, outside of it; never when it is undone, and at once where there is none.
 * Another act around that one is waited for too.
 */
export function afterwards(work: () => void): void {
  const act = acts.getStore()
  if (act === undefined || act.end === 'kept') work()
  else if (act.end === null) act.after.push(work)
}

/** Tell what waits how an act ended, from outside of it. */
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

/** The statements by which a transaction becomes a part of another. Savepoints of one name stack. */
const PART = {
  begin: ['savepoint part'],
  commit: ['release savepoint part'],
  rollback: ['rollback to savepoint part', 'release savepoint part'],
} as const

export interface Transactions {
  /** The same dialect, whose queries join the transaction that surrounds them. */
  readonly joining: (dialect: Dialect) => Dialect
  /**
   * Do something whole or not at all: when it throws, nothing of it stays. Inside another transaction it is a part of that.
   * @param db over the dialect that `joining` gave
   */
  readonly atomically: <T, S>(db: Kysely<S>, work: () => Promise<T>) => Promise<T>
}

/** @param single whether the engine has one connection, which transactions and queries must take in turn */
export function newTransactions(single: boolean): Transactions {
  const storage = new AsyncLocalStorage<Surrounding>()
  /** The part that the code that runs belongs to. */
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
          // It would wait for the end of the part, which waits for it.
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
          // The query builder runs the callback as what follows this; the caller's own code has gone its way already.
          parts.enterWith(surrounding.part)
          return say(connection, PART.begin)
        }
        // SQLite: one that reads first and writes later would fail where another program wrote in between.
        if (single) return say(connection, ['begin immediate'])
        // Whatever the database has as its default: each query sees what was kept before it, also by who held a row until then.
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
        // SQLite has rolled back by itself when the disk is full, and a connection that broke has nothing to roll back: the
        // error that led here says so.
        await say(connection, part ? PART.rollback : ['rollback']).catch(() => undefined)
      },
    }
  }

  return {
    joining: (dialect) => ({
      createAdapter: () => {
        const adapter = dialect.createAdapter()
        // The query builder would take the turns itself, and keep a query from the transaction that surrounds it.
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
          // What is under way ends first: half of it would be committed, or told that it is not in a transaction.
          await surrounding.queue.enter()
          surrounding.over = true
          surrounding.queue.leave()
        }
      })
      return ended(act, running)
    },
  }
}
