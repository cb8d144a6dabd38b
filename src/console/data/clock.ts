/** The time, as a signal that changes each second. */
import { computed, signal, type ReadonlySignal } from '@preact/signals'
import { daemonNow } from '../session/session.ts'

const MINUTE_MS = 60_000

const secondNow = signal(Date.now())
setInterval(() => {
  secondNow.value = daemonNow()
}, 1000)

/** The time of the daemon, Unix milliseconds. Changes each second. */
export const now: ReadonlySignal<number> = secondNow

/**
 * The beginning of the current minute, Unix milliseconds. Relative times use it, so that long lists
 * are rendered again each minute only.
 */
export const thisMinute: ReadonlySignal<number> = computed(
  () => Math.floor(secondNow.value / MINUTE_MS) * MINUTE_MS,
)

/** Returns how many seconds of the current minute are left. Words change with the minute. */
export const secondsLeft = (at: number): number => Math.ceil((MINUTE_MS - (at % MINUTE_MS)) / 1000)
