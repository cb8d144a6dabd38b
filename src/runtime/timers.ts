/** Time and chance, as work in the background needs them. Tests replace them. */
export interface Timers {
  /** Returns Unix milliseconds. */
  readonly now: () => number
  /** Calls a function after some milliseconds. Returns a function that cancels this. */
  readonly after: (ms: number, action: () => void) => () => void
  /** Returns a random number from 0 to 1. */
  readonly random: () => number
}

/** Returns the timers of the system. None of them keeps the process alive. */
export const systemTimers = (now: () => number): Timers => ({
  now,
  after(ms, action) {
    const timer = setTimeout(action, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
  random: Math.random,
})
