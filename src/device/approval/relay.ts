/** What both devices of an approval share: how long an attempt lasts, and how relayed data is judged. */
import { onRefusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'

/** How long an attempt lasts from its beginning. */
export const ATTEMPT_MS = 15 * 60_000

/** Judges what the account server passed on. Throws AppError backend_error where it breaks a rule. */
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
