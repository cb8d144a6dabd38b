/**
 * The rules for device approvals that both devices share.
 *
 * They are the limit on attempts, the lifetime of an attempt, and the comparison of the four words
 * (protocol, section 3). An attempt counts when this device sends its nonce, regardless of the
 * result. Without a limit, a dishonest server could begin again until the words match. The attempt
 * is stored on disk before the nonce is sent.
 */
import { onRefusal } from '../../crypto/refusal.ts'
import { sameWords } from '../../crypto/words.ts'
import { AppError } from '../../errors.ts'
import type { ApprovalSide } from '../../state/attempts.ts'
import type { State } from '../../state/state.ts'
import { asTyped } from '../codes/typed-words.ts'

/** The maximum number of attempts on each side in any 24 hours, by this device's clock. */
const MOST = 5
const DAY_MS = 24 * 3_600_000

type Rows = Pick<State, 'approvalAttempts' | 'transaction'>

/**
 * Checks that this device may begin another attempt.
 * @param now Unix milliseconds
 * @throws AppError rate_limited, with Retry-After
 */
export function requireAttempt({ approvalAttempts }: Rows, side: ApprovalSide, now: number): void {
  approvalAttempts.pullBack(now)
  const oldest = approvalAttempts.after(side, now - DAY_MS).at(-MOST)
  if (oldest === undefined) return
  const seconds = Math.ceil((oldest + DAY_MS - now) / 1000)
  const wait =
    seconds > 7200 ? `${Math.ceil(seconds / 3600)} hours` : `${Math.ceil(seconds / 60)} min`
  throw new AppError(
    'rate_limited',
    `This device has tried ${MOST} approvals in 24 hours, which is the limit. Try again in ${wait}.`,
    { headers: { 'Retry-After': String(seconds) } },
  )
}

/**
 * Counts an attempt. Must be called before the nonce is sent.
 * @throws AppError as `requireAttempt` does; nothing is counted then
 */
export function countAttempt(rows: Rows, side: ApprovalSide, now: number): void {
  rows.transaction(() => {
    requireAttempt(rows, side, now)
    rows.approvalAttempts.drop(now - DAY_MS)
    rows.approvalAttempts.add(side, now)
  })
}

/** The lifetime of an attempt, in milliseconds. */
export const ATTEMPT_MS = 15 * 60_000

/**
 * Runs a check of data that the account server relayed.
 * @throws AppError backend_error if the data breaks a rule
 */
export function verifyRelay<T>(work: () => T): T {
  return onRefusal(
    work,
    (cause) =>
      new AppError(
        'backend_error',
        `The account server sent invalid data for the other device (${cause.reason}). Nothing was approved. The server may be dishonest.`,
        { cause },
      ),
  )
}

/**
 * Requires that the typed words are the expected ones.
 * @param otherwise the message if four other words were typed
 * @throws AppError word_count and unknown_word for a typing error, validation_failed for other
 *   words
 */
export function requireWords(typed: string, expected: readonly string[], otherwise: string): void {
  if (areSame(typed, expected)) return
  throw new AppError('validation_failed', otherwise, {
    details: { issues: [{ path: 'words', message: 'These are not the expected words.' }] },
  })
}

const areSame = (typed: string, expected: readonly string[]): boolean =>
  asTyped(() => sameWords(typed, expected), {
    typed,
    wanted: 'Four words are needed',
    suggests: 'Is it',
  })
