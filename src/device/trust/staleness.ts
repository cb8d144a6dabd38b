import type { TrustCard } from '../../api/rest/trust-cards.ts'
import { keyStatusOf } from '../names.ts'
import type { State } from '../../state/state.ts'
import type { TrustRow } from '../../state/trust.ts'
import type { DeviceContext } from '../context.ts'

/** The parts of a device that the trust modules use. */
export type Trusting = Pick<
  DeviceContext,
  'state' | 'codes' | 'identity' | 'now' | 'requireSession'
>

/** The account of a card, and the hint of the account server that there are other keys. */
export type Hinted = Pick<TrustCard, 'user_id' | 'key_status'>

/**
 * A hint of the account server at a change fetches a log again after this time, in milliseconds.
 */
const HINTED_MS = 60_000

/**
 * Checks whether the account server hints at keys that are not stored here. For keys that were
 * replaced already, the hint does not show whether they were replaced again: it then counts a
 * minute after the last check.
 * @param now Unix milliseconds
 */
export const isHinted = ({ key_status }: Hinted, row: TrustRow, now: number): boolean =>
  key_status === 'changed_unverified' &&
  (keyStatusOf(row) !== key_status || Math.abs(now - row.checked_at) >= HINTED_MS)

/** Checks whether the newest stored key log entry is the one that was judged last. */
export const isJudged = ({ logs }: State, { account, seq }: TrustRow): boolean =>
  (logs.head('keylog', account)?.seq ?? -1) === seq
