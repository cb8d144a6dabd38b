/**
 * Helpers for `node:sqlite`.
 *
 * They map SQLite's result codes to AppErrors and nest transactions. They prepare a statement when
 * it first runs, so that unused statements do not slow the start.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { AppError, isFullDisk } from '../errors.ts'

/**
 * Result codes of SQLite.
 * @see https://www.sqlite.org/rescode.html
 */
const RESULT = {
  busy: 5,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const

/** Whether an error is from SQLite and has this result code. */
export function isResult(cause: unknown, kind: keyof typeof RESULT): boolean {
  const { errcode } = cause as { errcode?: unknown }
  // The low byte is the primary code. The other bits are more specific, as in BUSY_SNAPSHOT.
  return typeof errcode === 'number' && (errcode & 0xff) === RESULT[kind]
}

/** Whether an error of SQLite or `node:fs` means that the disk is full. */
export const isFull = (cause: unknown): boolean => isResult(cause, 'full') || isFullDisk(cause)

/** Whether an error means that the disk accepts no writes: it is failing or mounted read-only. */
export const isDiskFault = (cause: unknown): boolean =>
  (['io', 'readOnly', 'cannotOpen'] as const).some((kind) => isResult(cause, kind))

/**
 * Runs an action on a database.
 * @throws AppError `storage_full` if the disk is full or accepts no writes
 */
export function guarded<T>(action: () => T): T {
  try {
    return action()
  } catch (cause) {
    if (isResult(cause, 'full'))
      throw new AppError(
        'storage_full',
        'The disk is full. Nothing was stored. Free some space, then try again.',
        { cause },
      )
    if (!isDiskFault(cause)) throw cause
    throw new AppError(
      'storage_full',
      `Cannot write to the disk of the state folder (${(cause as Error).message}). Nothing was stored. Check the disk, then try again.`,
      { cause },
    )
  }
}

/** A prepared statement. `Row` is the type of the selected rows. */
interface Statement<Row> {
  /** Runs the statement and returns the number of changed rows. */
  run(...values: SQLInputValue[]): number
  get(...values: SQLInputValue[]): Row | null
  all(...values: SQLInputValue[]): Row[]
}

/** Returns a statement of this database, prepared when it first runs. */
export function statement<Row = never>(db: DatabaseSync, sql: string): Statement<Row> {
  let prepared: StatementSync | undefined
  const ready = (): StatementSync => (prepared ??= db.prepare(sql))
  return {
    run: (...values) => guarded(() => Number(ready().run(...values).changes)),
    get: (...values) => guarded(() => (ready().get(...values) as Row | undefined) ?? null),
    all: (...values) => guarded(() => ready().all(...values) as Row[]),
  }
}

/** The statements that begin and end a transaction, or a savepoint in a transaction. */
const framesOf = (db: DatabaseSync) => ({
  outer: {
    begin: db.prepare('begin immediate'),
    commit: db.prepare('commit'),
    rollback: 'rollback',
  },
  inner: {
    begin: db.prepare('savepoint inner'),
    commit: db.prepare('release inner'),
    rollback: 'rollback to inner; release inner',
  },
})

/** Prepared once for each database, because each frequent write needs them. */
const frames = new WeakMap<DatabaseSync, ReturnType<typeof framesOf>>()

/** Runs `action` in a transaction, or in a savepoint if a transaction is already open. */
export function transaction<T>(db: DatabaseSync, action: () => T): T {
  return guarded(() => {
    const known = frames.get(db) ?? framesOf(db)
    frames.set(db, known)
    const { begin, commit, rollback } = db.isTransaction ? known.inner : known.outer
    begin.run()
    try {
      const result = action()
      commit.run()
      return result
    } catch (cause) {
      // If the disk is full, SQLite has already rolled back.
      if (db.isTransaction) db.exec(rollback)
      throw cause
    }
  })
}
