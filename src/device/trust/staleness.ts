import type { TrustCard } from '../../api/rest/trust-cards.ts'
import type { State } from '../../state/state.ts'
import { keyStatusOf, type TrustRow } from '../../state/trust.ts'
import type { DeviceContext } from '../context.ts'

/** The parts of a device that the trust modules use. */
export type Trusting = Pick<
  DeviceContext,
  'state' | 'codes' | 'vault' | 'identity' | 'now' | 'requireSession'
>

/** A trust card's account, and the account server's hint that its keys changed. */
export type Hinted = Pick<TrustCard, 'user_id' | 'key_status'>

/** A hint of changed keys causes another fetch at most once in this time, in milliseconds. */
const HINTED_MS = 60_000

/**
 * Checks whether the account server hints at keys that are not stored here.
 *
 * If the stored keys have changed already, the hint cannot show whether they changed again. It then
 * counts only if the last check was a minute ago or longer.
 * @param now Unix milliseconds
 */
export const isHinted = ({ key_status }: Hinted, row: TrustRow, now: number): boolean =>
  key_status === 'changed_unverified' &&
  (keyStatusOf(row) !== key_status || Math.abs(now - row.checked_at) >= HINTED_MS)

/** Checks whether the newest stored key log entry was considered at the last check. */
export const isJudged = ({ logs }: State, { account, seq }: TrustRow): boolean =>
  (logs.head('keylog', account)?.seq ?? -1) === seq
