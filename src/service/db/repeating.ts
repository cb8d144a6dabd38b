/**
 * Repeats transactions and statements that PostgreSQL undid because of another transaction. That is
 * allowed because nothing of them is left.
 */
import { setTimeout } from 'node:timers/promises'

/** How often something is tried at most. */
const MOST_ATTEMPTS = 12
/**
 * The longest pause before the second attempt, and before any attempt, in milliseconds. It doubles
 * for each attempt.
 */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [10, 1000]

/**
 * SQLSTATE of a transaction that PostgreSQL undid, because it could not be ordered with another one
 * or because both waited for each other.
 */
const UNDONE = ['40001', '40P01']

/** Returns whether PostgreSQL undid a transaction because of another one. */
export const isUndone = (error: unknown): boolean =>
  UNDONE.includes(String((error as { code?: unknown } | null)?.code))

/**
 * Runs work until it succeeds, or fails with another error, or has failed too often.
 * @param isRepeatable whether an error, or an error from which it was made, means that nothing of
 *   the work is left
 */
export async function repeated<T>(
  work: () => Promise<T>,
  isRepeatable: (error: unknown) => boolean,
): Promise<T> {
  for (let attempt = 1; ; attempt++)
    try {
      return await work()
    } catch (error) {
      const isOurs = isRepeatable(error) || (error instanceof Error && isRepeatable(error.cause))
      if (attempt === MOST_ATTEMPTS || !isOurs) throw error
      // A random pause, so that transactions that met do not meet again.
      const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1))
      await setTimeout(Math.random() * longest)
    }
}
