/** Runs steps one after another: the steps of a queue, or the independent parts of a job. */
import { type ErrorCode, toAppError } from '../errors.ts'

/** Returns a function that runs steps one after another, in the order of the calls. */
export function newQueue(): <T>(step: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (step) => {
    const turn = tail.then(step)
    tail = turn.catch(() => undefined)
    return turn
  }
}

/** Codes that end a job, because every later part would fail in the same way. */
export const ENDING: readonly ErrorCode[] = [
  'backend_unavailable',
  'backend_timeout',
  'not_signed_in',
]

/**
 * Runs the parts in order, even if an earlier part failed. Stops if the account server is
 * unreachable or has ended the session.
 * @param failed called for each failure that is not thrown
 * @throws the first failure after all parts ran, or immediately a failure that ends the job
 */
export async function runEach(
  parts: readonly (() => Promise<void>)[],
  failed: (cause: unknown) => void,
): Promise<void> {
  const failures: unknown[] = []
  for (const part of parts)
    try {
      await part()
    } catch (error) {
      if (ENDING.includes(toAppError(error).code)) {
        failures.forEach(failed)
        throw error
      }
      failures.push(error)
    }
  const [first, ...others] = failures
  others.forEach(failed)
  if (failures.length > 0) throw first
}
