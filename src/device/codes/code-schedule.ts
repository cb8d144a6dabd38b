/**
 * Schedules the work on the index of codes.
 *
 * The work is done in slices, so that other work waits for at most one slice. A look-up waits until
 * the work that it needs is done. A large index is also prepared before each minute begins, as long
 * as words are verified from time to time.
 */
import { PERIOD_S, acceptedAt, windowOf } from '../../crypto/code.ts'

/**
 * The length of a slice, in milliseconds. With its garbage collection, a slice delays other work by
 * less than 5 ms.
 */
export const SLICE_MS = 1
/**
 * The pause between two preparation slices, in milliseconds. A look-up does not wait for these
 * slices.
 */
const REST_MS = 9
/**
 * The maximum number of codes per window without preparation. Computing three such windows takes
 * 1.2 ms.
 */
const FEW = 600
/** If no words are verified for this time, in milliseconds, no more codes are prepared. */
const IDLE_MS = 5 * 60_000

/** How the scheduled work measures time and yields to other work. */
export interface Pace {
  /** Returns milliseconds on a monotonic clock. */
  elapsed(): number
  /** Resolves after other waiting work has run. */
  turn(): Promise<void>
  /** Calls back after `ms` milliseconds. A pending call does not keep the process running. */
  later(ms: number, call: () => void): void
}

export const REAL_PACE: Pace = {
  elapsed: () => performance.now(),
  turn: () => new Promise((resolve) => void setImmediate(resolve)),
  later: (ms, call) => void setTimeout(call, ms).unref(),
}

export interface CodeSchedule {
  /**
   * Does one slice of the work that a look-up needs.
   * @param now returns Unix milliseconds
   * @returns null if the look-up can be made immediately; otherwise a promise to wait for
   * @throws the error of the work, or rejects the promise with it
   */
  ready(now: () => number): Promise<void> | null
}

/**
 * Creates a schedule.
 * @param of `work` computes codes for these windows until `enough` returns true, and returns
 *   whether they are complete; `codes` returns the number of codes in a window
 */
export function newCodeSchedule({
  work,
  codes,
  pace,
}: {
  work: (windows: readonly number[], enough: () => boolean) => boolean
  codes: () => number
  pace: Pace
}): CodeSchedule {
  let waiting: Promise<void> | null = null
  let isAhead = false
  let asked = 0

  function slice(windows: readonly number[]): boolean {
    const end = pace.elapsed() + SLICE_MS
    return work(windows, () => pace.elapsed() >= end)
  }

  async function finish(now: () => number): Promise<void> {
    do await pace.turn()
    while (!slice(acceptedAt(now())))
  }

  function ahead(now: () => number): void {
    isAhead = codes() > FEW && pace.elapsed() - asked < IDLE_MS
    if (!isAhead) return
    const at = now()
    try {
      const isDone = waiting === null && slice([...acceptedAt(at), windowOf(at) + 2])
      const period = PERIOD_S * 1000
      pace.later(isDone ? period - (at % period) : REST_MS, () => ahead(now))
    } catch {
      // The next verification gets the error.
      isAhead = false
    }
  }

  return {
    ready(now) {
      asked = pace.elapsed()
      if (waiting === null && !slice(acceptedAt(now())))
        waiting = finish(now).finally(() => {
          waiting = null
        })
      if (!isAhead && codes() > FEW) {
        isAhead = true
        pace.later(REST_MS, () => ahead(now))
      }
      return waiting
    },
  }
}
