/**
 * When the index of codes is worked on: in slices, so that whoever else has something to do waits for one slice at most. Before a
 * look-up, as much as it needs; where there is much of it, ahead of the minute as well, as long as somebody verifies now and then.
 */
import { PERIOD_S, acceptedAt, windowOf } from '../../crypto/code.ts'

/** With what the garbage of a slice may cost, nobody waits for 5 ms. */
export const SLICE_MS = 1
/** Between two slices that nobody waits for. */
const REST_MS = 9
/** So many codes a window take 1.2 ms, all three windows of them: nothing is done ahead. */
const FEW = 600
/** Nothing is done ahead any more when nobody verified for so long. */
const IDLE_MS = 5 * 60_000

/** How work gives way. */
export interface Pace {
  /** Milliseconds since some time, which no clock change touches. */
  elapsed(): number
  /** Ends after whatever else waits for its turn. */
  turn(): Promise<void>
  /** Call after so many milliseconds, unless the program has nothing else to do. */
  later(ms: number, call: () => void): void
}

export const REAL_PACE: Pace = {
  elapsed: () => performance.now(),
  turn: () => new Promise((resolve) => void setImmediate(resolve)),
  later: (ms, call) => void setTimeout(call, ms).unref(),
}

export interface Schedule {
  /**
   * Work towards a look-up, and say whether it has to wait: null when it can be made at once. What the work throws is thrown
   * here, or the promise is rejected with it.
   * @param now the clock, Unix milliseconds
   */
  ready(now: () => number): Promise<void> | null
}

/** @param of `work` goes on with these windows until `enough`, and says whether they are done; `codes` is how many a window takes. */
export function newSchedule({
  work,
  codes,
  pace,
}: {
  work: (windows: readonly number[], enough: () => boolean) => boolean
  codes: () => number
  pace: Pace
}): Schedule {
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
      // Whoever verifies next is told.
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
