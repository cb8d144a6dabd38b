/** The lifetime of an approval attempt, and the check of relayed data. Both devices use them. */
import { onRefusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'

/** The lifetime of an attempt from its beginning, in milliseconds. */
export const ATTEMPT_MS = 15 * 60_000

/**
 * Runs a check of data that the account server relayed.
 * @throws AppError backend_error where the data breaks a rule
 */
export function judgedRelay<T>(work: () => T): T {
  return onRefusal(
    work,
    (cause) =>
      new AppError(
        'backend_error',
        `What the account server passed on of the other device cannot be right (${cause.reason}), and nothing was approved. The server may be dishonest.`,
        { cause },
      ),
  )
}
