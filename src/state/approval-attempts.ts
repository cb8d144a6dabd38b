/** When this device sent a nonce for the approval of a further device, so that attempts are few. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

/** `approving`: this device was to add another; `new`: it was to be added itself. */
export type ApprovalSide = 'approving' | 'new'

export type ApprovalAttemptRows = ReturnType<typeof approvalAttemptRows>

/** The rows of attempts. Times are Unix milliseconds. */
export function approvalAttemptRows(db: DatabaseSync) {
  const after = statement<{ at: number }>(
    db,
    'select at from approval_attempts where side = ? and at > ? order by at, id',
  )
  const add = statement(db, 'insert into approval_attempts (side, at) values (?, ?)')
  const pullBack = statement(db, 'update approval_attempts set at = ?1 where at > ?1')
  const drop = statement(db, 'delete from approval_attempts where at <= ?')
  return {
    /** The times of those after one, oldest first. */
    after: (side: ApprovalSide, at: number): number[] => after.all(side, at).map((row) => row.at),
    add(side: ApprovalSide, at: number): void {
      add.run(side, at)
    },
    /** Moves those that are later than now to now: the clock was set back since. */
    pullBack(now: number): void {
      pullBack.run(now)
    },
    /** Deletes those until a time. */
    drop(until: number): void {
      drop.run(until)
    },
  }
}
