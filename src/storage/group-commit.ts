/**
 * Commits the small transactions of concurrent requests together.
 *
 * A durable commit waits for the disk, which takes longer than everything else in a small
 * transaction. So all actions that are added in one turn of the event loop share one transaction,
 * and each has a savepoint of its own.
 */
import type { DatabaseSync } from 'node:sqlite'
import { transaction } from './sqlite.ts'

/**
 * Runs a synchronous action in a transaction at the end of the current turn of the event loop.
 * Actions run in the order in which they were added. No other code runs while the shared
 * transaction is open.
 *
 * If an action throws, only its own changes are undone, and only its promise rejects.
 * @returns the result of the action, after it is on disk
 * @throws AppError `storage_full` if the shared transaction cannot be committed. Then none of the
 * actions has changed anything.
 */
export type GroupCommit = <T>(action: () => T) => Promise<T>

interface Waiting {
  /** Runs the action and returns a function that settles its promise. */
  readonly run: () => () => void
  readonly reject: (cause: unknown) => void
}

/** Creates the groups of a database. */
export function newGroupCommit(db: DatabaseSync): GroupCommit {
  let waiting: Waiting[] = []

  function commit(): void {
    const group = waiting
    waiting = []
    let settle: (() => void)[]
    try {
      settle = transaction(db, () => group.map(({ run }) => run()))
    } catch (cause) {
      for (const { reject } of group) reject(cause)
      return
    }
    for (const one of settle) one()
  }

  return <T>(action: () => T) =>
    new Promise<T>((resolve, reject) => {
      const run = () => {
        try {
          const result = transaction(db, action)
          return () => resolve(result)
        } catch (cause) {
          // If the disk is full, SQLite may have undone the whole transaction.
          if (!db.isTransaction) throw cause
          return () => reject(cause as Error)
        }
      }
      waiting.push({ run, reject })
      if (waiting.length === 1) setImmediate(commit)
    })
}
