/** How long the machine has run since it was started, the time that it slept included. */
import { uptime } from 'node:os'
import type { Moment } from '../../state/wrong-attempts.ts'

/** For how long a reading is carried on by the monotonic clock, in milliseconds. */
const CARRIED_MS = 1_000

/** Milliseconds since the machine was started. */
export interface Uptime {
  /** Read from the system. On Linux that opens a file, which takes some ten microseconds. */
  readonly exact: () => number
  /**
   * Read at most a second ago, plus the time since by the monotonic clock. That one stands still
   * while the machine sleeps: just after a sleep the result is too low.
   */
  readonly recent: () => number
}

/** The uptime of this machine. */
export function machineUptime(): Uptime {
  let read = { at: Number.NEGATIVE_INFINITY, uptime: 0 }
  const exact = () => {
    read = { at: performance.now(), uptime: uptime() * 1000 }
    return read.uptime
  }
  return {
    exact,
    recent() {
      const since = performance.now() - read.at
      return since < CARRIED_MS ? read.uptime + since : exact()
    },
  }
}

/**
 * The least time that has passed since an earlier moment, in milliseconds. After a restart of the
 * machine that is the time since the restart: the moment was before it.
 */
export const ranSince = (from: number, boot: string | null, now: Moment): number =>
  boot === now.boot && now.uptimeMs >= from ? now.uptimeMs - from : now.uptimeMs
