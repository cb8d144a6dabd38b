/**
 * The times at which this device sent a nonce for the approval of another device, to limit
 * attempts.
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

/** `approving`: this device was to approve another one; `new`: it was to be approved itself. */
export type ApprovalSide = 'approving' | 'new'

export type ApprovalAttemptRows = ReturnType<typeof approvalAttemptRows>

/** Returns the statements for the rows of attempts. Times are Unix milliseconds. */
export function approvalAttemptRows(db: DatabaseSync) {
  const after = statement<{ at: number }>(
    db,
    'select at from approval_attempts where side = ? and at > ? order by at, id',
  )
  const add = statement(db, 'insert into approval_attempts (side, at) values (?, ?)')
  const pullBack = statement(db, 'update approval_attempts set at = ?1 where at > ?1')
  const drop = statement(db, 'delete from approval_attempts where at <= ?')
  return {
    /** Returns the times of the attempts after a time, oldest first. */
    after: (side: ApprovalSide, at: number): number[] => after.all(side, at).map((row) => row.at),
    add(side: ApprovalSide, at: number): void {
      add.run(side, at)
    },
    /** Moves times later than now to now. They occur after the clock was set back. */
    pullBack(now: number): void {
      pullBack.run(now)
    },
    /** Deletes the attempts at or before a time. */
    drop(until: number): void {
      drop.run(until)
    },
  }
}
