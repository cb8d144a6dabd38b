/**
 * Leaving an account: the device revokes itself in the key log, so that nobody seals to it any more, and only then forgets what it
 * holds. While the account server is away nothing is forgotten: an unrevoked device without keys would be a trap for others.
 */
import type { Account } from '../api/port.ts'
import { type KeyLog, revokeDevice } from '../crypto/key-log.ts'
import { AppError } from '../errors.ts'
import type { State } from '../state/state.ts'
import type { Identity } from './identity.ts'
import { continueKeyLog, judged } from './key-log.ts'

const lastDevice = () =>
  new AppError(
    'invalid_state',
    'This is the last device of the account. After it, only "countersignd reset" brings the account back, with a new device; everybody who follows the account then sees that its keys changed. ' +
      'To sign out all the same, say so with --last-device.',
    { details: { state: 'last_device' } },
  )

/** Somebody revoked this device, or ended its session for good: there is nothing left to tell the server. */
const isGone = (error: unknown) => error instanceof AppError && error.code === 'not_signed_in'

/** The account server did not answer, or not with sense. */
const AWAY = new Set(['backend_error', 'backend_timeout', 'backend_unavailable'])

function stays(error: unknown): unknown {
  if (!(error instanceof AppError) || !AWAY.has(error.code)) return error
  return new AppError(
    error.code,
    `Not signed out, for the account server must hear of it: ${error.message}`,
    { details: error.details, headers: error.headers, cause: error },
  )
}

/**
 * Tell the account that this device leaves: one that awaits approval ends its session, any other revokes itself.
 * @param lastDevice whether it may be the last one
 * @throws AppError invalid_state for the last device, backend_… when the server did not confirm; the device then stays
 */
export async function takeLeave(of: {
  identity: Identity
  state: State
  account: Account
  now: number
  lastDevice: boolean
}): Promise<void> {
  const { identity, state, account, now } = of
  const { device: by, kid } = identity
  try {
    if (!identity.approved) return await account.currentSession.delete({})
    const seed = (await identity.keys()).sign.secret
    const revoked = (log: KeyLog) => {
      if (log.active.every(({ id }) => id !== by)) return null
      if (log.active.length === 1 && !of.lastDevice) throw lastDevice()
      const entry = { log, device: by, by, kid, seed, at: Math.floor(now / 1000) }
      return judged(() => revokeDevice(entry))
    }
    await continueKeyLog(state, account, identity.account, revoked)
  } catch (error) {
    if (!isGone(error)) throw stays(error)
  }
}
