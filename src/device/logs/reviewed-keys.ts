/**
 * Which keys of somebody the person has looked at. Of whom nobody here follows, the first keys are taken, and those that an owner of a
 * connection confirms; of whom the person follows, those that it saw first or confirmed itself (section 3).
 */
import { type KeyLog, isLinked } from '../../crypto/logs/key-log.ts'
import type { Member } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'

/**
 * Whether an owner confirmed keys of somebody whom the person follows, and the person has not: the account server and that owner may have
 * made them. Nothing is sealed to them, and nothing that they could say is believed. Keys that the recovery key links to those that
 * the person has looked at are not doubted.
 */
export function isDoubted(state: State, { account, generation }: Member): boolean {
  const row = state.trust.get(account)
  if (row === null || row.pinned === 0 || generation <= row.pinned) return false
  const log = rememberedLog(state, account)
  return log === null || !isLinked(log, row.pinned, generation)
}

/**
 * Of somebody who is followed, the keys must be those that the person has looked at: the account server may show others by now.
 * @param confirmed whether they must have been confirmed as well
 * @throws AppError invalid_state
 */
export function demandLooked({ trust }: State, log: KeyLog, confirmed: boolean): void {
  const { account, generation } = log
  const row = trust.get(account)
  const isLooked = row !== null && row.refused === null && isLinked(log, row.pinned, generation)
  if (isLooked ? row.confirmed || !confirmed : row === null && !confirmed) return
  throw new AppError(
    'invalid_state',
    `The keys of ${account} are not those that you have looked at: compare the safety number, then confirm them ("countersignd trust confirm").`,
    { details: { state: 'changed_unverified' } },
  )
}
