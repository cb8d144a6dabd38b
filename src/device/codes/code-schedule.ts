/**
 * Schedules the work on the index of codes. It is done in slices, so that other work waits for
 * one slice at most. A look-up waits for the work that it needs. A large index is also prepared
 * before each minute begins, as long as words are verified from time to time.
 */
import { PERIOD_S, acceptedAt, windowOf } from '../../crypto/code.ts'

/**
 * The length of a slice, in milliseconds. Together with its garbage collection, it delays other
 * work by less than 5 ms.
 */
export const SLICE_MS = 1
/** The pause between two slices that no look-up waits for, in milliseconds. */
const REST_MS = 9
/** The most codes in a window without preparation: all three windows of them take 1.2 ms. */
const FEW = 600
/** Preparation stops after this time without a verification, in milliseconds. */
const IDLE_MS = 5 * 60_000

/** How this work yields to other work. */
export interface Pace {
  /** Returns the milliseconds since some time, by a clock that no clock change affects. */
  elapsed(): number
  /** Resolves after other work that waits has run. */
  turn(): Promise<void>
  /** Calls back after some milliseconds. A pending call does not keep the program running. */
  later(ms: number, call: () => void): void
}

export const REAL_PACE: Pace = {
  elapsed: () => performance.now(),
  turn: () => new Promise((resolve) => void setImmediate(resolve)),
  later: (ms, call) => void setTimeout(call, ms).unref(),
}

export interface CodeSchedule {
  /**
   * Works towards a look-up.
   * @param now returns the clock, Unix milliseconds
   * @returns null where the look-up can be made at once; else a promise to wait for
   * @throws the error of the work, or rejects the promise with it
   */
  ready(now: () => number): Promise<void> | null
}

/**
 * Creates a schedule.
 * @param of `work` continues with these windows until `enough` returns true, and returns whether
 *   they are complete; `codes` returns how many a window has
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
