/** What nobody waits for: clearing away, and notices by mail. What fails there has no caller to be told, so the log is. */
import type { Log } from '../log.ts'

export interface Background {
  run(work: () => Promise<unknown>): void
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>
}

export function newBackground(log: Log): Background {
  const running = new Set<Promise<unknown>>()
  return {
    run: (work) => {
      const done = work()
        .catch((cause: unknown) => log('warn', 'work in the background failed', { cause }))
        .finally(() => running.delete(done))
      running.add(done)
    },
    idle: async () => {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
