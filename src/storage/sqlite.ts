/**
 * Helpers for `node:sqlite`.
 *
 * They map SQLite's result codes to AppErrors and nest transactions. They prepare a statement when
 * it first runs, so that unused statements do not slow the start.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { elapsedMs } from '../elapsed.ts'
import { AppError, isFullDisk } from '../errors.ts'
import { METRICS } from '../metrics/catalogue.ts'

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

/**
 * Prepares a statement. Its rows are made from arrays, because the objects that node:sqlite makes
 * are hash tables, which take twice as long to make and to read.
 * @returns `isReader`: whether the statement returns rows
 */
export function prepare<Row>(db: DatabaseSync, sql: string) {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  const namesNow = () => statement.columns().map(({ name }) => name)
  let names = namesNow()
  const rowOf = (found: unknown): Row => {
    const values = found as unknown[]
    // A `select *` has more columns after a column was added to its table.
    if (values.length !== names.length) names = namesNow()
    const row: Record<string, unknown> = {}
    for (let i = 0; i < names.length; i++) row[names[i]!] = values[i]
    return row as Row
  }
  return {
    isReader: names.length > 0,
    run: (values: readonly SQLInputValue[]) => guarded(() => statement.run(...values)),
    get: (values: readonly SQLInputValue[]): Row | null =>
      guarded(() => {
        const found = statement.get(...values)
        return found === undefined ? null : rowOf(found)
      }),
    all: (values: readonly SQLInputValue[]): Row[] =>
      guarded(() => statement.all(...values).map(rowOf)),
  }
}

/** Returns a statement of this database, prepared when it first runs. */
export function statement<Row = never>(db: DatabaseSync, sql: string): Statement<Row> {
  let prepared: ReturnType<typeof prepare<Row>> | undefined
  const ready = () => (prepared ??= prepare<Row>(db, sql))
  return {
    run: (...values) => Number(guarded(ready).run(values).changes),
    get: (...values) => guarded(ready).get(values),
    all: (...values) => guarded(ready).all(values),
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

const commits = METRICS.commitDuration.at({})

/** Runs the statement that commits a transaction, and measures it. */
function commitNow(commit: StatementSync): void {
  const from = elapsedMs()
  commit.run()
  METRICS.commitDuration.observe(commits, elapsedMs() - from)
}

/** Prepared once for each database, because each frequent write needs them. */
const frames = new WeakMap<DatabaseSync, ReturnType<typeof framesOf>>()

/** Runs `action` in a transaction, or in a savepoint if a transaction is already open. */
export function transaction<T>(db: DatabaseSync, action: () => T): T {
  return guarded(() => {
    const known = frames.get(db) ?? framesOf(db)
    frames.set(db, known)
    const isInner = db.isTransaction
    const { begin, commit, rollback } = isInner ? known.inner : known.outer
    begin.run()
    try {
      const result = action()
      if (isInner) commit.run()
      else commitNow(commit)
      return result
    } catch (cause) {
      // If the disk is full, SQLite has already rolled back.
      if (db.isTransaction) db.exec(rollback)
      throw cause
    }
  })
}
