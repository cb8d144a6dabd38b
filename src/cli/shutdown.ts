/** How a program that serves ends: when it is asked to, in good order, and in any case soon. */
import type { Log } from '../log.ts'
import { type Times, endWhenOverdue } from './watchdog.ts'

/** Longer than an orderly stop takes; what still runs then waits for an answer that never comes. */
const LONGEST_MS = 15_000

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The thread that ends the process comes after the timer that does. */
const OVERDUE_MS = LONGEST_MS + 500

/**
 * Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. While the event
 * loop is blocked no signal reaches it: then the process ends `overdueMs` after the first one.
 * @param watched `times`: see `endWhenOverdue`; `onReady`: called when its thread watches
 */
export const askedToStop = (
  overdueMs = OVERDUE_MS,
  { times, onReady }: { times?: Times; onReady?: () => void } = {},
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
 * Close what serves. Where that takes too long the process ends without it, as it would by a crash,
 * which loses nothing that was acknowledged.
 * @param longestMs how long it may take, in milliseconds
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
