/** How long the machine has run since its start, including sleep, and which start it was. */
import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import type { Moment } from '../../state/attempts.ts'

/** How long the monotonic clock may extend a reading, in milliseconds. */
const CARRIED_MS = 1_000

/** Milliseconds since the machine was started. */
export interface Uptime {
  /**
   * Reads the uptime from the system. On Linux this opens a file, which takes tens of microseconds.
   */
  readonly exact: () => number
  /**
   * Returns a reading that is at most one second old, plus the monotonic time since. The monotonic
   * clock stops while the machine sleeps, so directly after a sleep the result is too low.
   */
  readonly recent: () => number
}

/** Returns the uptime of this machine. */
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
 * Returns the minimum time that has passed since an earlier moment, in milliseconds. If the machine
 * was restarted after that moment, this is the time since the restart.
 */
export const ranSince = (from: number, boot: string | null, now: Moment): number =>
  boot === now.boot && now.uptimeMs >= from ? now.uptimeMs - from : now.uptimeMs

/**
 * Reads the kernel's boot id, which is random and changes at every machine start.
 * @returns null if it cannot be read: on systems other than Linux, or without permission
 * @see proc_sys_kernel(5), `random/boot_id`
 */
export function bootId(): string | null {
  if (process.platform !== 'linux') return null
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return null
  }
}
