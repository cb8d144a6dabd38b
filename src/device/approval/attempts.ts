/**
 * The limit on attempts to approve a further device (section 3). An attempt counts when this
 * device sends its nonce, regardless of the result. Without a limit, a server could begin again
 * until the words fit. The count is on disk before the nonce is sent.
 */
import { AppError } from '../../errors.ts'
import type { ApprovalSide } from '../../state/approval-attempts.ts'
import type { State } from '../../state/state.ts'

/** On each side, in any 24 hours of this device's clock. */
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
    `This device has tried ${MOST} approvals in 24 hours, which is the most: a dishonest account server gets few chances. Try again in ${wait}.`,
    { headers: { 'Retry-After': String(seconds) } },
  )
}

/**
 * Counts an attempt, before its nonce is sent.
 * @throws AppError as `requireAttempt` does; then nothing is counted
 */
export function countAttempt(rows: Rows, side: ApprovalSide, now: number): void {
  rows.transaction(() => {
    requireAttempt(rows, side, now)
    rows.approvalAttempts.drop(now - DAY_MS)
    rows.approvalAttempts.add(side, now)
  })
}
