/** Ends a server on request, in an orderly way and within a time limit. */
import type { Log } from '../log.ts'

/**
 * The code of the watchdog thread. It is passed as text, so it can refer only to `workerData`: how
 * long the process may still run, in milliseconds, and the line that it logs.
 */
function watch(): void {
  const { workerData } = process.getBuiltinModule('node:worker_threads')
  const { ms, line } = workerData as { ms: number; line: string }
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
  const { writeSync } = process.getBuiltinModule('node:fs')
  writeSync(2, line)
  process.kill(process.pid, 'SIGKILL')
}

/**
 * Ends this process after a time, even if its event loop is blocked then: timers run only on the
 * event loop, so a separate thread waits. The thread does not keep the process alive.
 */
function endAfter(ms: number, line: string): void {
  // Loaded here, because only a stop needs it.
  const { Worker } = process.getBuiltinModule('node:worker_threads')
  const options = { eval: true, env: {}, execArgv: [], workerData: { ms, line } }
  new Worker(`(${watch.toString()})()`, options).unref()
}

/**
 * How long an orderly shutdown may take, in milliseconds.
 *
 * It normally takes less. After this time, the remaining work is waiting for a reply that will not
 * come.
 */
const LONGEST_MS = 15_000

/** The event that the watchdog thread logs. */
const OVERDUE = 'stopped while the event loop was held up'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The watchdog thread ends the process a little later than the timer of `stop` would. */
export const OVERDUE_MS = LONGEST_MS + 500

/**
 * Resolves at the first SIGINT or SIGTERM. A second signal ends the process immediately.
 *
 * If the process still runs `overdueMs` after the first signal, for example because the event loop
 * was blocked since, a thread ends it.
 * @param isText whether the log consists of lines of text, and not of JSON lines
 */
export const askedToStop = (overdueMs = OVERDUE_MS, isText = false): Promise<void> =>
  new Promise((resolve) => {
    const asked = () => {
      for (const signal of SIGNALS) process.off(signal, asked)
      const line = isText ? `warn: ${OVERDUE}` : JSON.stringify({ level: 'warn', event: OVERDUE })
      endAfter(overdueMs, `${line}\n`)
      resolve()
    }
    for (const signal of SIGNALS) process.on(signal, asked)
  })

/**
 * Closes a server. After the time limit, the process exits without waiting.
 *
 * Like a crash, the exit loses nothing that was acknowledged.
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
