/**
 * Signs out of an account, cancels an incomplete sign-in, and revokes other devices.
 *
 * To sign out, the device uploads local records, revokes itself in the key log, and then deletes
 * all data of the account. After the revocation, no device seals secrets to it. If the account
 * server cannot be informed, nothing is deleted unless the user requests it. Otherwise other
 * devices would seal to an unrevoked device without keys, and the keys may still be valid.
 */
import type { Account } from '../../api/port.ts'
import { revokeDevice } from '../../crypto/logs/key-log-entries.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { Log } from '../../log.ts'
import type { State } from '../../state/state.ts'
import type { LocalDevice } from '../device.ts'
import { type Identity, openIdentity, rememberServer } from '../identity/identity.ts'
import { isMarked, markSigned, unmarkSigned } from '../identity/marks.ts'
import { forgetKeys } from '../identity/own-keys.ts'
import { notSignedIn } from '../identity/refusals.ts'
import { continueKeyLog, fetchKeyLog, rememberKeyLog, withLogRefusals } from '../logs/key-log.ts'
import { dropCode, forgetMachineKey } from './credentials.ts'
import type { DeviceSession } from './session.ts'
import { dropDraft, hasDraft } from './sign-in-draft.ts'

const lastDevice = () =>
  new AppError(
    'invalid_state',
    'This is the last device of the account. After signing out, only "countersignd reset" restores the account, with a new device. Everyone who follows the account then sees that its keys changed. ' +
      'Words of your connections cannot be checked until an owner removes this account or confirms its new keys. In connections of which you are the only owner, first make another member an owner ("countersignd connection role"). ' +
      'To sign out anyway, add --last-device.',
    { details: { state: 'last_device' } },
  )

/** Returns the command that renews the session; null if renewing needs a code from the operator. */
function loginOf({ machine, email }: Identity): string | null {
  if (machine) return 'countersignd login --machine'
  return email === null ? null : `countersignd login --email ${email}`
}

function unknownHere(identity: Identity, cause: AppError): AppError {
  const login = loginOf(identity)
  const again =
    login === null ? '' : ` "${login}" signs the same device in again, unless it was revoked.`
  return new AppError(
    'invalid_state',
    'The account server rejects the session of this device, because the device was revoked or its session has ended. Contacts cannot be notified of a sign-out, and the keys of this device may still be valid. ' +
      `"countersignd logout --forget" deletes the keys here without notifying anyone.${again}`,
    { details: { state: 'unknown_here' }, cause },
  )
}

/** Codes that mean that the account server did not respond, or sent an invalid response. */
const AWAY: readonly ErrorCode[] = ['backend_error', 'backend_timeout', 'backend_unavailable']
/** Codes that mean the account server could not be informed of the sign-out. */
const UNHEARD: readonly ErrorCode[] = [...AWAY, 'not_signed_in', 'keychain_locked']

const unanswered = (error: AppError) =>
  new AppError(
    error.code,
    `Not signed out, because the account server must be notified: ${error.message} To delete the keys of this device without notifying the account server, use "countersignd logout --forget".`,
    { details: error.details, headers: error.headers, cause: error },
  )

/**
 * Checks whether a rejected session (401) is expected: the device waits for approval or is revoked.
 */
async function isGone({ identity, state }: { identity: Identity; state: State }): Promise<boolean> {
  const { approved, device, session } = identity
  if (!approved || isMarked(state, session)) return true
  return (await identity.keyLog()).devices.get(device)?.revokedAt != null
}

/**
 * Informs the account server that this device signs out.
 *
 * If the key log names the device, it revokes itself. Otherwise it waits for approval, and only its
 * session is ended. A device that is cancelled between the two comparisons of words is already in
 * the log.
 * @param of `now` is in Unix milliseconds; `lastDevice` is whether it may be the last device;
 *   `forget` is whether it signs out even if the account server cannot be informed
 * @throws AppError invalid_state for the last device, and with `state` `unknown_here` if the server
 *   rejects the session; backend_… if the server did not confirm; the device then stays signed in
 */
export async function takeLeave(of: {
  identity: Identity
  state: State
  account: Account
  now: number
  lastDevice: boolean
  forget: boolean
}): Promise<void> {
  const { identity, state, account, now } = of
  const { device: by, kid, session } = identity
  const isIn = (log: KeyLog) => log.active.some(({ id }) => id === by)

  async function revoke(): Promise<void> {
    const { secret: seed } = (await identity.keys()).sign
    await continueKeyLog(state, account, identity.account, (log) => {
      if (!isIn(log)) return null
      if (log.active.length === 1 && !of.lastDevice) throw lastDevice()
      const entry = { log, device: by, by, kid, seed, at: Math.floor(now / 1000) }
      const signed = revokeDevice(entry)
      markSigned(state, session)
      return signed
    })
  }

  try {
    const isMember = identity.approved || isIn(await fetchKeyLog(state, account, identity.account))
    await (isMember ? revoke() : account.currentSession.delete({}))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    // A rejected request had no effect.
    if (!UNHEARD.includes(error.code)) unmarkSigned(state)
    if (of.forget && UNHEARD.includes(error.code)) return
    if (AWAY.includes(error.code)) throw unanswered(error)
    if (error.code !== 'not_signed_in') throw error
    if (!(await isGone(of))) throw unknownHere(identity, error)
  }
}

interface LeavingContext {
  readonly state: State
  readonly keychain: Keychain
  readonly deviceSession: Pick<DeviceSession, 'account' | 'device' | 'leave'>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly log: Log
}

/**
 * Signs out the current account.
 * @param how `last_device`: whether it may be the last device of the account; `forget`: whether to
 *   sign out even if the account server cannot be informed
 * @throws AppError as `takeLeave` does; the device then stays signed in
 */
export async function leaveAccount(
  { state, keychain, deviceSession, now, log }: LeavingContext,
  identity: Identity,
  { last_device: lastDevice, forget }: { last_device: boolean; forget: boolean },
): Promise<void> {
  const left = await deviceSession.device()?.sync.handOver()
  // The session may have been renewed since this device signed in.
  const leaving = openIdentity(state, keychain) ?? identity
  const account = deviceSession.account()
  await takeLeave({ identity: leaving, state, account, now: now(), lastDevice, forget })
  const who = { account: identity.account, device: identity.device }
  if (left !== undefined && left.verifications + left.stamps > 0)
    log('warn', 'signed out with records that the account server did not accept', {
      ...who,
      ...left,
    })
  forgetMachineKey(keychain)
  log('info', 'signed out', who)
  await deviceSession.leave()
}

/**
 * Cancels an incomplete sign-in.
 * @param of `waits`: whether a code was sent; `forget`: whether to delete also the device that was
 *   created for the sign-in. If the account server has already enrolled the device, it can then
 *   never be used.
 * @throws AppError not_signed_in if there is nothing to cancel
 */
export function giveUp(
  { state, keychain }: Pick<LeavingContext, 'state' | 'keychain'>,
  { waits, forget }: { waits: boolean; forget: boolean },
): void {
  // If a device is enrolled, the keys in the keychain belong to it.
  const drops = forget && hasDraft(state) && openIdentity(state, keychain) === null
  if (!waits && !drops) throw notSignedIn()
  dropCode(state)
  rememberServer(state, null)
  if (!drops) return
  dropDraft(state)
  forgetKeys(state, keychain)
}

/**
 * Revokes a device that the key log names, or deletes a device that waits for approval.
 *
 * Every secret that the revoked device had is replaced. If the device is already revoked, only does
 * the pending rotations, because a thief may have signed the device out.
 * @throws AppError not_found for an unknown device, invalid_state for this device itself, and what
 *   `continueKeyLog` and the account server throw
 */
export async function revoke(device: LocalDevice, account: Account, id: string): Promise<void> {
  const { state, identity, now, sync, requireSession } = device
  const own = identity.device
  if (id === own)
    throw new AppError(
      'invalid_state',
      'A device cannot revoke itself in this way. "countersignd logout" revokes this device and deletes its data.',
      { details: { state: 'current' } },
    )
  const { sign } = await identity.keys()
  const by = { by: own, kid: identity.kid, seed: sign.secret }
  const log = await continueKeyLog(state, account, identity.account, (before) => {
    const known = before.devices.get(id)
    if (known === undefined || known.revokedAt !== null) return null
    return revokeDevice({ log: before, device: id, ...by, at: Math.floor(now() / 1000) })
  })
  requireSession()
  withLogRefusals(() => rememberKeyLog(device, log))
  if (!log.devices.has(id)) {
    await account.devices.delete({ id })
    return
  }
  // The running sync may have passed the connections already. Failures are in the new run's report,
  // and the next sync tries again.
  await sync.runAnew('request')
}
