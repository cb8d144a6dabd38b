/**
 * Repeated work in the background of a server process. It runs once at a time. If it is woken
 * during a run, it runs again after that.
 */
import type { Background } from './background.ts'

export interface Runner {
  /** Starts a run, or another one after the current run. */
  wake(): void
  /** Starts a run after a time in milliseconds, in place of an earlier plan. */
  wakeIn(ms: number): void
}

/**
 * Creates a runner.
 * @param of `signal` aborts when the server shuts down; `retryMs`: when a failed run is repeated,
 *   in milliseconds
 */
export function newRunner(of: {
  readonly background: Background
  readonly signal: AbortSignal
  readonly work: () => Promise<void>
  readonly retryMs: number
}): Runner {
  const { background, signal, work, retryMs } = of
  let running = false
  let again = false
  let timer: NodeJS.Timeout | undefined
  signal.addEventListener('abort', () => clearTimeout(timer))

  function wakeIn(ms: number): void {
    clearTimeout(timer)
    if (!signal.aborted) timer = setTimeout(wake, ms).unref()
  }

  async function run(): Promise<void> {
    again = true
    if (running) return
    running = true
    try {
      while (again && !signal.aborted) {
        again = false
        await work()
      }
    } catch (error) {
      wakeIn(retryMs)
      throw error
    } finally {
      running = false
    }
  }

  function wake(): void {
    background.run(run)
  }

  return { wake, wakeIn }
}
