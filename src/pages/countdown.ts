/** Counts down the current minute: one tick a second, aligned to the seconds of the server. */
import { PERIOD_S, windowOf } from '../crypto/code.ts'
import type { PageClock } from './server-clock.ts'

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
