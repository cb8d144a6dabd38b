/**
 * The server's time on a page, and the countdown of the current minute. The time starts at the time
 * in the document, and advances with the browser's monotonic clock. The device's wall clock is used
 * only for comparison: if the two clocks diverge, the device slept or its wall clock was set, so
 * the page asks the server for the time again.
 */
import { PERIOD_S, windowOf } from '../crypto/code.ts'

/**
 * The largest error of a device's clock, in milliseconds, at which its words are still accepted.
 */
export const TOLERANCE_MS = 30_000
const DRIFT_MS = 2_000

type PageClock = {
  /** Returns the server's time in Unix milliseconds. */
  now: () => number
  /**
   * Returns how far the device's clock is ahead of the server's, in milliseconds; negative if
   * behind.
   */
  ahead: () => number
  /** Asks the server for the time again if the device's two clocks diverged. Never throws. */
  settle: () => Promise<void>
}

/**
 * Returns a clock that starts at `documentMs`. That is the server's time when it made the document,
 * in Unix milliseconds.
 */
export function serverClock(documentMs: number): PageClock {
  let base = documentMs + documentAge()
  let monotonic = performance.now()
  let wall = Date.now()
  let asking: Promise<void> | null = null

  const passed = () => performance.now() - monotonic
  const set = (unixMs: number) => {
    base = unixMs
    monotonic = performance.now()
    wall = Date.now()
  }
  const ask = async () => {
    const answered = await serverTime()
    // If the server does not respond, assume that the device slept, which is more likely than a
    // clock change. The wall clock includes that time.
    set(answered ?? base + (Date.now() - wall))
    asking = null
  }

  return {
    now: () => base + passed(),
    ahead: () => Date.now() - (base + passed()),
    settle: async () => {
      if (Math.abs(Date.now() - wall - passed()) > DRIFT_MS) asking ??= ask()
      await asking
    },
  }
}

/**
 * Returns the milliseconds since the document began to arrive. They are added to the document's
 * time, so that a slow connection does not make the clock late.
 */
function documentAge(): number {
  const [entry] = performance.getEntriesByType('navigation')
  const arrived = entry instanceof PerformanceNavigationTiming ? entry.responseStart : 0
  return arrived > 0 ? Math.max(0, performance.now() - arrived) : 0
}

async function serverTime(): Promise<number | null> {
  try {
    const { headers } = await fetch('/health', { cache: 'no-store', credentials: 'omit' })
    const date = Date.parse(headers.get('date') ?? '')
    // The header has whole seconds, so the time is half a second later on average.
    return Number.isNaN(date) ? null : date + 500
  } catch {
    return null
  }
}

/**
 * Calls `tick` now, every second, and whenever the page becomes visible, because timers of hidden
 * pages are late. `tick` receives the current window and the number of seconds that remain of it.
 * @returns a function that stops the countdown
 */
export function startCountdown(
  clock: PageClock,
  tick: (window: number, seconds: number) => void,
): () => void {
  let timer = 0
  const run = () => {
    clearTimeout(timer)
    void clock.settle()
    const now = clock.now()
    tick(windowOf(now), PERIOD_S - (Math.floor(now / 1000) % PERIOD_S))
    // The timer fires 10 ms after the full second, so that a timer that is slightly early does not
    // show the same second twice.
    timer = setTimeout(run, 1010 - (now % 1000))
  }
  const seen = () => {
    if (document.visibilityState === 'visible') run()
  }
  document.addEventListener('visibilitychange', seen)
  run()
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', seen)
  }
}
