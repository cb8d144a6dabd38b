import type { TrustCard } from '../../api/rest/trust-cards.ts'
import { keyStatusOf } from '../key-status.ts'
import type { State } from '../../state/state.ts'
import type { TrustRow } from '../../state/trust.ts'
import type { DeviceContext } from '../context.ts'

/** What trust needs of a device. */
export type Trusting = Pick<DeviceContext, 'state' | 'codes' | 'identity' | 'now' | 'demandSeat'>

/** What a card says of whose it is, and the account server's hint that there are other keys to see. */
export type Hinted = Pick<TrustCard, 'user_id' | 'key_status'>

/** A log of which the account server hints that it changed is fetched again after a minute. */
const HINTED_MS = 60_000

/**
 * Whether the account server hints at other keys than those known here. Of keys that were replaced
 * already the hint does not say whether they were replaced again.
 * @param now Unix milliseconds
 */
export const isHinted = ({ key_status }: Hinted, row: TrustRow, now: number): boolean =>
  key_status === 'changed_unverified' &&
  (keyStatusOf(row) !== key_status || Math.abs(now - row.checked_at) >= HINTED_MS)

/** Whether the newest key log entry that is remembered is the one that was judged last. */
export const isJudged = ({ logs }: State, { account, seq }: TrustRow): boolean =>
  (logs.head('keylog', account)?.seq ?? -1) === seq
