/** How a program that serves ends: when it is asked to, in good order, and in any case soon. */
import type { Log } from '../log.ts'

/** Longer than all that is waited for in good order; what then still runs waits for somebody who does not answer. */
const LONGEST_MS = 15_000

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
export const askedToStop = (): Promise<void> =>
  new Promise((resolve) => {
    const asked = () => {
      for (const signal of SIGNALS) process.off(signal, asked)
      resolve()
    }
    for (const signal of SIGNALS) process.on(signal, asked)
  })

/**
 * Close what serves. Where that takes too long the process ends without it, as it would by a crash, which loses nothing that
 * was acknowledged.
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
