/** Parts of one job that do not depend on each other. */
import { type Code, toAppError } from '../errors.ts'

/** Every later part would fail the same way. */
export const ENDING: readonly Code[] = ['backend_unavailable', 'backend_timeout', 'not_signed_in']

/**
 * Run each part in turn, also after one that failed, except where the account server is away or has
 * ended the session.
 * @param failed called for a failure that is not thrown
 * @throws the first failure after all parts ran, or at once the one that ends them
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
