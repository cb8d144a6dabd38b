/**
 * Work that no request waits for, such as clean-up and mail. Failures have no caller, so they go
 * to the log.
 */
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { afterwards } from './transactions.ts'

export interface Background {
  /** Runs work now, or inside an operation after its commit, and never after a rollback. */
  run(work: () => Promise<unknown>): void
  /** Resolves when no work is running. */
  idle(): Promise<void>
}

/** Returns the log fields of a failure: an expected error without a stack, others with one. */
const told = (error: unknown) =>
  error instanceof AppError
    ? { error: error.code, cause: error.cause ?? error.message }
    : { cause: error }

export function newBackground(log: Log): Background {
  const running = new Set<Promise<unknown>>()
  return {
    run: (work) =>
      afterwards(() => {
        const done = (async () => work())()
          .catch((error: unknown) => log('warn', 'work in the background failed', told(error)))
          .finally(() => running.delete(done))
        running.add(done)
      }),
    idle: async () => {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
