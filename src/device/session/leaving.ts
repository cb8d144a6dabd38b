/**
 * Signs out of an account, and cancels an incomplete sign-in.
 *
 * To sign out, the device uploads local records, informs the account server that it leaves, and
 * then deletes all data of the account.
 */
import type { Keychain } from '../../keychain/backend.ts'
import type { Log } from '../../log.ts'
import type { State } from '../../state/state.ts'
import { type Identity, openIdentity } from '../identity/identity.ts'
import { forgetKeys } from '../identity/own-keys.ts'
import { forgetMachineKey } from './machine-key.ts'
import type { DeviceSession } from './session.ts'
import { dropCode } from './sign-in-code.ts'
import { dropDraft, hasDraft } from './sign-in-draft.ts'
import { notSignedIn } from '../identity/refusals.ts'
import { takeLeave } from './sign-out.ts'

interface LeavingContext {
  readonly state: State
  readonly keychain: Keychain
  readonly seat: Pick<DeviceSession, 'account' | 'device' | 'leave'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Log
}

/**
 * Signs out the current account.
 * @param how `last_device`: it may be the last device of the account; `forget`: it leaves even if
 *   the account server cannot be informed
 * @throws AppError as `takeLeave` does; the device then stays signed in
 */
export async function leaveAccount(
  { state, keychain, seat, now, log }: LeavingContext,
  identity: Identity,
  { last_device: lastDevice, forget }: { last_device: boolean; forget: boolean },
): Promise<void> {
  const left = await seat.device()?.sync.handOver()
  // The session may have been renewed since this device signed in.
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
 * Cancels an incomplete sign-in, so that no code is expected any longer.
 * @param of `waits`: whether a code was sent; `forget`: also delete the device that was made for
 *   the sign-in. If the account server has already enrolled it, only its keys can use it.
 * @throws AppError not_signed_in if there is nothing to cancel
 */
export function giveUp(
  { state, keychain }: Pick<LeavingContext, 'state' | 'keychain'>,
  { waits, forget }: { waits: boolean; forget: boolean },
): void {
  // If a device is enrolled, the keys in the keychain are that device's.
  const drops = forget && hasDraft(state) && openIdentity(state, keychain) === null
  if (!waits && !drops) throw notSignedIn()
  dropCode(state)
  if (!drops) return
  dropDraft(state)
  forgetKeys(state, keychain)
}
