/** Ends a server on request: in order, and within a time limit. */
import type { Log } from '../log.ts'
import { type WatchdogTimes, endWhenOverdue } from './watchdog.ts'

/**
 * Longer than an orderly shutdown takes. After it, pending work waits for a reply that will not
 * come.
 */
const LONGEST_MS = 15_000

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The watchdog thread ends the process later than the timer of `stop`. */
const OVERDUE_MS = LONGEST_MS + 500

/**
 * Resolves at the first SIGINT or SIGTERM. A second one ends the process at once.
 * A blocked event loop receives no signal: then the process ends `overdueMs` after the first one.
 * @param watched `times`: see `endWhenOverdue`; `onReady`: called when its thread watches
 */
export const askedToStop = (
  overdueMs = OVERDUE_MS,
  { times, onReady }: { times?: WatchdogTimes; onReady?: () => void } = {},
): Promise<void> =>
  new Promise((resolve) => {
    const overdue = endWhenOverdue(overdueMs, times)
    if (onReady !== undefined) void overdue.ready.then(onReady)
    const asked = () => {
      for (const signal of SIGNALS) process.off(signal, asked)
      overdue.asked()
      resolve()
    }
    for (const signal of SIGNALS) process.on(signal, asked)
  })

/**
 * Closes a server. After the time limit the process exits without waiting.
 * Like a crash, that loses nothing that was acknowledged.
 * @param longestMs the time limit, in milliseconds
 */
export async function stop(
  service: { close(): Promise<void> },
  log: Log,
  longestMs = LONGEST_MS,
): Promise<void> {
  log('info', 'stopping')
  const late = setTimeout(() => {
    log('warn', 'stopped before everything had ended')
    process.exit(1)
  }, longestMs)
  await service.close()
  clearTimeout(late)
}
