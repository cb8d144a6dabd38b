/**
 * The server's time on the page, and the countdown of the current minute by it. It is the time in
 * the document, advanced by the monotonic clock. The device's own clock only serves for comparison.
 * If the two clocks diverge, the device slept or its clock was set, and the page asks the server
 * again.
 */
import { PERIOD_S, windowOf } from '../crypto/code.ts'

/**
 * The largest error of a device's own clock, in milliseconds, with which its words are accepted.
 */
export const TOLERANCE_MS = 30_000
const DRIFT_MS = 2_000

type PageClock = {
  /** Returns Unix milliseconds by the server's clock. */
  now: () => number
  /** Returns how far the device's clock is ahead of it, in milliseconds; negative: behind. */
  ahead: () => number
  /** Asks the server again if the two clocks of the device diverged. Never throws. */
  settle: () => Promise<void>
}

/**
 * Returns a clock that starts at the server's time when it made the document, in Unix
 * milliseconds.
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
    // Without a response, sleep is likelier than a change of the clock, and the wall clock counts
    // sleep.
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
 * Returns the milliseconds since the document began to arrive. They correct the clock, so that a
 * slow connection does not shift the minute.
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
    // The header counts whole seconds.
    return Number.isNaN(date) ? null : date + 500
  } catch {
    return null
  }
}

/**
 * Calls `tick` now, at each second and whenever the page becomes visible. Timers of hidden pages
 * are late. `tick` receives the window and the whole seconds that it still lasts.
 * @returns a function that stops it
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
    // A little past the second, so that a timer that fires early does not show it twice.
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
