/** What nobody waits for: clearing away, and notices by mail. What fails there has no caller to be told, so the log is. */
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { afterwards } from './transactions.ts'

export interface Background {
  /** Inside an act it begins when the act is kept, and never when it is undone. */
  run(work: () => Promise<unknown>): void
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>
}

/** What may happen on any day says what it is; a stack is for what should not. */
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
