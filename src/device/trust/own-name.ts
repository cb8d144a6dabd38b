/**
 * The own account's name (protocol, section 4a). A device signs it, and the account server
 * distributes it. No device signs a name that only the server has reported.
 */
import * as v from 'valibot'
import type { Account } from '../../api/port.ts'
import { SignedName } from '../../api/rest/names.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import { verifySignedBy } from '../../crypto/logs/key-log-ops.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { type SignedProfile, readProfile, signProfile } from '../../crypto/logs/profile.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import type { DeviceContext } from '../context.ts'
import { newQueue } from '../in-order.ts'
import { type Remembering, pullKeyLog } from '../logs/key-log.ts'
import { nameToSign, noteFormerName, rememberName } from '../identity/signed-name.ts'
import { keepProfile, putProfile, unlessRefused } from '../logs/profiles.ts'

/** The name of the meta row with the highest `n` that this device has signed. */
const HIGHEST_N = 'own_name_n'
/** The maximum number of attempts. Each one fails if another device of the account is faster. */
const ATTEMPTS = 5

type Naming = Remembering & Pick<DeviceContext, 'identity'>

/**
 * Signs the name with the next `n`. Stores `n` before signing, so that no `n` is signed twice.
 * @throws AppError invalid_state if there is no higher `n`
 */
async function signNext(
  device: Naming,
  name: string,
): Promise<{ profile: SignedProfile; jws: string }> {
  const { state, identity } = device
  const { account, device: by, kid } = identity
  const { sign } = await identity.keys()
  const highest = (state.meta.get(HIGHEST_N) as number | null) ?? 0
  const n = Math.max(highest, state.profiles.get(account)?.n ?? 0) + 1
  if (!Number.isSafeInteger(n))
    throw new AppError(
      'invalid_state',
      'Another device of this account signed a name with the highest possible number, so no newer name can be signed. Revoke that device, then set the name again.',
      { details: { state: 'last_name' } },
    )
  device.requireSession()
  state.meta.set(HIGHEST_N, n)
  const profile = { account, device: by, n, name }
  return { profile: { v: 2, ...profile }, jws: signProfile({ ...profile, kid, seed: sign.secret }) }
}

const isConflict = (error: unknown) => error instanceof AppError && error.code === 'conflict'

/**
 * Signs a name, sends it to the account server and stores it.
 * @throws AppError conflict if the server already has another profile
 */
async function signAndGive(device: Naming, account: Account, name: string): Promise<void> {
  const { profile, jws } = await signNext(device, name)
  await account.signedProfiles.give({ body: { profile: jws } })
  device.requireSession()
  putProfile(device.state, profile, jws)
  rememberName(device.state, name)
}

/** A queue per state, so that a sync does not sign a name while the user sets one. */
const turns = new WeakMap<State, ReturnType<typeof newQueue>>()

function inTurn<T>(state: State, step: () => Promise<T>): Promise<T> {
  const turn = turns.get(state) ?? newQueue()
  turns.set(state, turn)
  return turn(step)
}

/**
 * Signs the name that the user set, and sends it to the account server.
 * @param name 1 to 64 code points
 * @throws AppError invalid_state if there is no higher `n`, conflict if other devices were faster
 *   each time, rate_limited, and any error from the account server
 */
export const giveOwnName = (device: Naming, account: Account, name: string): Promise<void> =>
  inTurn(device.state, async () => {
    for (let attempt = 1; ; attempt++)
      try {
        return await signAndGive(device, account, name)
      } catch (error) {
        if (!isConflict(error) || attempt === ATTEMPTS) throw error
        await pullKeyLog(device, account, device.identity.account)
      }
  })

/**
 * Returns the name in a profile that a device of the account signed; null for any other profile.
 * The device may be revoked.
 */
const nameBefore = (log: KeyLog, jws: string): string | null =>
  unlessRefused(() => {
    const profile = readProfile(jws)
    const signer = log.devices.get(profile.device)
    if (profile.account !== log.account || signer === undefined) return null
    verifySignedBy(signer, parseJws(jws, 'profile+jws'))
    return v.is(SignedName, profile.name) ? profile.name : null
  })

/**
 * Brings the own account's signed name up to date.
 *
 * Stores a newer profile from the account server, sends a profile that the server lacks, and signs
 * the stored name again if its signer was revoked. A device without a stored name, for example
 * after a reset, signs nothing, because the server could choose among the names of revoked devices.
 * It only stores the server's name to show it to the user.
 * @param given the profile that the account server has; undefined if it has none
 * @throws AppError conflict if another device was faster, and as `giveOwnName` does
 */
export const settleOwnName = (
  device: Naming,
  account: Account,
  given: string | undefined,
): Promise<void> => inTurn(device.state, () => settle(device, account, given))

async function settle(device: Naming, account: Account, given: string | undefined): Promise<void> {
  const { state, identity } = device
  const log = await identity.keyLog()
  keepProfile(state, log, given)
  const stored = state.profiles.get(identity.account)
  if (stored !== null) {
    if (nameToSign(state) !== stored.name) rememberName(state, stored.name)
    if (stored.jws !== given) await account.signedProfiles.give({ body: { profile: stored.jws } })
    return
  }
  const name = nameToSign(state)
  if (name !== null) return signAndGive(device, account, name)
  const former = given === undefined ? null : nameBefore(log, given)
  if (former !== null) noteFormerName(state, { name: former, jws: given! })
}
