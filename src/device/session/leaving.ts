/**
 * Leaving: what was made here is handed over, the account hears that the device goes, and then everything is forgotten. And giving
 * up a sign-in that was not finished.
 */
import type { Keychain } from '../../keychain/backend.ts'
import type { Log } from '../../log.ts'
import type { State } from '../../state/state.ts'
import { type Identity, openIdentity } from '../identity/identity.ts'
import { forgetKeys } from '../identity/own-keys.ts'
import { forgetMachineKey } from './machine-key.ts'
import type { Seat } from './session.ts'
import { dropCode } from './sign-in-code.ts'
import { dropDraft, hasDraft } from './sign-in-draft.ts'
import { nobody } from '../identity/refusals.ts'
import { takeLeave } from './sign-out.ts'

interface Ground {
  readonly state: State
  readonly keychain: Keychain
  readonly seat: Pick<Seat, 'account' | 'device' | 'leave'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Log
}

/**
 * Sign out who is here.
 * @param how `last_device`: it may be the last one of the account; `forget`: it leaves also when nobody hears of it
 * @throws AppError as `takeLeave` does; the device then stays
 */
export async function leaveAccount(
  { state, keychain, seat, now, log }: Ground,
  identity: Identity,
  { last_device: lastDevice, forget }: { last_device: boolean; forget: boolean },
): Promise<void> {
  const left = await seat.device()?.sync.handOver()
  // With the session that it has by now: the one that sat down may have had another.
  const leaving = openIdentity(state, keychain) ?? identity
  const account = seat.account()
  await takeLeave({ identity: leaving, state, account, now: now(), lastDevice, forget })
  const who = { account: identity.account, device: identity.device }
  if (left !== undefined && left.verifications + left.stamps > 0)
    log('warn', 'signed out with records that the account server did not take', { ...who, ...left })
  forgetMachineKey(keychain)
  log('info', 'signed out', who)
  await seat.leave()
}

/**
 * Give up a sign-in that was not finished: no code is waited for any more.
 * @param of `waits`: whether a code is on its way; `forget`: drop also the device that was made for it, whose keys alone are of use
 *   where the account server has enrolled it already
 * @throws AppError not_signed_in when there is nothing to give up
 */
export function giveUp(
  { state, keychain }: Pick<Ground, 'state' | 'keychain'>,
  { waits, forget }: { waits: boolean; forget: boolean },
): void {
  // The keys are those of who is enrolled, where somebody is.
  const drops = forget && hasDraft(state) && openIdentity(state, keychain) === null
  if (!waits && !drops) throw nobody()
  dropCode(state)
  if (!drops) return
  dropDraft(state)
  forgetKeys(state, keychain)
}
