/**
 * The reviewed keys of other accounts. For an account that the user does not follow, these are
 * the first keys, and those that an owner of a connection confirms. For an account that the user
 * follows, these are the keys that the user saw first or confirmed (section 3).
 */
import { isLinked } from '../../crypto/logs/generations.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import type { RosterMember } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'

/**
 * Checks whether an owner confirmed keys of a followed account that the user has not confirmed.
 * The account server and that owner may have made them. Nothing is sealed to them, and none of
 * their words verify. Keys that the recovery key links to reviewed keys are not doubted.
 */
export function isDoubted(state: State, { account, generation }: RosterMember): boolean {
  const row = state.trust.get(account)
  if (row === null || row.pinned === 0 || generation <= row.pinned) return false
  const log = rememberedLog(state, account)
  return log === null || !isLinked(log, row.pinned, generation)
}

/**
 * Requires that a followed account has reviewed keys: the account server may return others by
 * now.
 * @param confirmed whether the user must have confirmed them as well
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
