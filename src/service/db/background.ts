/**
 * Runs work that no request waits for, such as clean-up and mail. Failures are logged, because
 * there is no caller to report them to.
 */
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { afterwards } from './transactions.ts'

export interface Background {
  /**
   * Runs work now. Inside an operation or a transaction it runs after the commit, or never if that
   * is rolled back.
   */
  run(work: () => Promise<unknown>): void
  /** Resolves when no work is running. */
  idle(): Promise<void>
}

/** Returns the log fields of a failure. An expected error is logged without its stack. */
const logFields = (error: unknown) =>
  error instanceof AppError
    ? { error: error.code, cause: error.cause ?? error.message }
    : { cause: error }

export function newBackground(log: Log): Background {
  const running = new Set<Promise<unknown>>()
  return {
    run: (work) =>
      afterwards(() => {
        const done = (async () => work())()
          .catch((error: unknown) => log('warn', 'work in the background failed', logFields(error)))
          .finally(() => running.delete(done))
        running.add(done)
      }),
    idle: async () => {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
