/**
 * The reviewed keys of other accounts (section 3).
 *
 * If the user follows an account, these are the keys that the user saw first or confirmed.
 * Otherwise they are the account's first keys, and keys that an owner of a connection confirmed.
 */
import { isLinked } from '../../crypto/logs/generations.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import type { RosterMember } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'

/**
 * Checks whether an owner confirmed a followed account's keys that the user has not confirmed.
 *
 * The account server and that owner may have forged such keys. So nothing is sealed to them, and
 * their words do not verify. Keys that the recovery key links to reviewed keys are not doubted.
 */
export function isDoubted(state: State, { account, generation }: RosterMember): boolean {
  const row = state.trust.get(account)
  if (row === null || row.pinned === 0 || generation <= row.pinned) return false
  const log = rememberedLog(state, account)
  return log === null || !isLinked(log, row.pinned, generation)
}

/**
 * Requires that a key log has the reviewed keys if the user follows its account.
 *
 * The account server may return other keys than those that the user reviewed.
 * @param confirmed whether the user must follow the account and must have confirmed the keys
 * @throws AppError invalid_state
 */
export function requireLooked({ trust }: State, log: KeyLog, confirmed: boolean): void {
  const { account, generation } = log
  const row = trust.get(account)
  const isLooked = row !== null && row.refused === null && isLinked(log, row.pinned, generation)
  if (isLooked ? row.confirmed || !confirmed : row === null && !confirmed) return
  throw new AppError(
    'invalid_state',
    `The keys of ${account} are not those that you reviewed. Compare the safety number, then confirm them ("countersignd trust confirm").`,
    { details: { state: 'changed_unverified' } },
  )
}
