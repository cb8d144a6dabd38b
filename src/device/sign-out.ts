/**
 * Leaving an account: the device revokes itself in the key log, so that nobody seals to it any more, and only then forgets what it
 * holds. While nobody hears that it leaves, nothing is forgotten unless the person says so: an unrevoked device without keys would
 * be a trap for others, and the keys may still be good.
 */
import type { Account } from '../api/port.ts'
import { type KeyLog, revokeDevice } from '../crypto/key-log.ts'
import { AppError, type Code } from '../errors.ts'
import type { State } from '../state/state.ts'
import type { Identity } from './identity.ts'
import { continueKeyLog, judged } from './key-log.ts'

/** The session in which this device last signed its own revocation: the server may know it, whatever was heard of that. */
const SIGNED = 'sign_out'

const lastDevice = () =>
  new AppError(
    'invalid_state',
    'This is the last device of the account. After it, only "countersignd reset" brings the account back, with a new device; everybody who follows the account then sees that its keys changed. ' +
      'To sign out all the same, say so with --last-device.',
    { details: { state: 'last_device' } },
  )

const unknownHere = ({ machine, email }: Identity, cause: AppError) =>
  new AppError(
    'invalid_state',
    'The account server takes the session of this device no more: the device was revoked, or its session ended. So nobody hears that it leaves, and its keys may still be good. ' +
      '"countersignd logout --forget" forgets them here all the same; ' +
      `"countersignd login ${machine ? '--machine' : `--email ${email ?? 'ADDRESS'}`}" signs the same device in again if it is still good.`,
    { details: { state: 'unknown_here' }, cause },
  )

/** The account server did not answer, or not with sense. */
const AWAY: readonly Code[] = ['backend_error', 'backend_timeout', 'backend_unavailable']
/** Why nobody hears that this device leaves. */
const UNHEARD: readonly Code[] = [...AWAY, 'not_signed_in', 'keychain_locked']

const unheard = (error: AppError) =>
  new AppError(
    error.code,
    `Not signed out, for the account server must hear of it: ${error.message} To forget the keys of this device without that, use "countersignd logout --forget".`,
    { details: error.details, headers: error.headers, cause: error },
  )

/** Whether the server's 401 says nothing new: this device waits, or is revoked as far as it knows itself. */
async function isGone({ identity, state }: { identity: Identity; state: State }): Promise<boolean> {
  const { approved, device, session } = identity
  if (!approved || state.meta.get(SIGNED) === session) return true
  return (await identity.keyLog()).devices.get(device)?.revokedAt != null
}

/**
 * Tell the account that this device leaves: one that awaits approval ends its session, any other revokes itself.
 * @param of `now` in Unix milliseconds; `lastDevice`: it may be the last one; `forget`: it leaves also when nobody hears of it
 * @throws AppError invalid_state for the last device, and, as `unknown_here`, for a session that the server takes no more;
 *   backend_… when the server did not confirm; the device then stays
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
  try {
    if (!identity.approved) return await account.currentSession.delete({})
    const seed = (await identity.keys()).sign.secret
    const revoked = (log: KeyLog) => {
      if (log.active.every(({ id }) => id !== by)) return null
      if (log.active.length === 1 && !of.lastDevice) throw lastDevice()
      const entry = { log, device: by, by, kid, seed, at: Math.floor(now / 1000) }
      const signed = judged(() => revokeDevice(entry))
      state.meta.set(SIGNED, session)
      return signed
    }
    await continueKeyLog(state, account, identity.account, revoked)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (of.forget && UNHEARD.includes(error.code)) return
    if (AWAY.includes(error.code)) throw unheard(error)
    if (error.code !== 'not_signed_in') throw error
    if (!(await isGone(of))) throw unknownHere(identity, error)
  }
}
