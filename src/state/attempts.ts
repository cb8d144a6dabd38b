/** Limited attempts: wrong words, and approvals of devices. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

/** A time that does not change when the system clock is set. */
export interface Moment {
  /** Milliseconds since the machine was started. */
  readonly uptimeMs: number
  /** The id of the boot that `uptimeMs` counts from; null if the system has no such id. */
  readonly boot: string | null
}

/** The caller that made the attempts, and whether it named the speaker it expected. */
export interface Series {
  readonly caller: string
  readonly expected: boolean
}

export interface WrongTries {
  readonly in_row: number
  /** The uptime at the last attempt; null if that attempt causes no pause. */
  readonly paused_from: number | null
  readonly boot: string | null
}

export type WrongTryRows = ReturnType<typeof wrongTryRows>

/** Returns the statements that count each caller's wrong attempts since its last right one. */
export function wrongTryRows(db: DatabaseSync) {
  const of = statement<WrongTries & { readonly caller: string }>(
    db,
    `select caller, in_row, paused_from, boot from wrong_tries
     where caller in (?, ?) and expected = ?`,
  )
  const add = statement(
    db,
    `insert into wrong_tries (caller, expected, in_row, paused_from, boot) values (?, ?, 1, ?, ?)
     on conflict do update set in_row = in_row + 1, paused_from = excluded.paused_from,
       boot = excluded.boot`,
  )
  const takeBack = statement(
    db,
    `update wrong_tries set in_row = max(in_row - 1, 0), paused_from = null
     where caller = ? and expected = ?`,
  )
  const end = statement(db, 'delete from wrong_tries where caller = ? and expected = ?')
  const key = ({ caller, expected }: Series) => [caller, Number(expected)] as const
  return {
    /** Returns the counts of at most two callers. A caller without wrong attempts is left out. */
    of: (callers: readonly string[], expected: boolean) =>
      of.all(callers[0] ?? null, callers[1] ?? null, Number(expected)),
    /** Counts another wrong attempt, made at this moment. */
    add(series: Series, { uptimeMs, boot }: Moment): void {
      add.run(...key(series), Math.round(uptimeMs), boot)
    },
    /** Subtracts the last attempt and ends its pause. */
    takeBack(series: Series): void {
      takeBack.run(...key(series))
    },
    /** Resets the count. */
    end(series: Series): void {
      end.run(...key(series))
    },
  }
}

/** `approving`: this device approves another device. `new`: another device approves this one. */
export type ApprovalSide = 'approving' | 'new'

/**
 * Returns the statements for the times at which this device sent a nonce for a device approval. The
 * times are Unix milliseconds.
 */
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
    /** Replaces times later than now with now. Such times exist after the clock was set back. */
    pullBack(now: number): void {
      pullBack.run(now)
    },
    /** Deletes the attempts at or before a time. */
    drop(until: number): void {
      drop.run(until)
    },
  }
}
