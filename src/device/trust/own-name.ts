/**
 * The name of the own account (protocol, section 4a). A device signs it, and the account server
 * distributes it. No device signs a name that it has from the server alone.
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

/** The highest `n` that this device has signed. */
const HIGHEST_N = 'own_name_n'
/** The most attempts. Each can lose against another device of the same account. */
const ATTEMPTS = 5

type Naming = Remembering & Pick<DeviceContext, 'identity'>

/**
 * Signs the name with the next `n`. The `n` is stored first, so that none is signed twice.
 * @throws AppError invalid_state where no higher `n` is left
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
 * @throws AppError conflict where another profile came first
 */
async function signAndGive(device: Naming, account: Account, name: string): Promise<void> {
  const { profile, jws } = await signNext(device, name)
  await account.signedProfiles.give({ body: { profile: jws } })
  device.requireSession()
  putProfile(device.state, profile, jws)
  rememberName(device.state, name)
}

/** The queue of each state: a sync must not sign a name while the user sets another one. */
const turns = new WeakMap<State, ReturnType<typeof newQueue>>()

function inTurn<T>(state: State, step: () => Promise<T>): Promise<T> {
  const turn = turns.get(state) ?? newQueue()
  turns.set(state, turn)
  return turn(step)
}

/**
 * Signs the name that the user set, and sends it to the account server.
 * @param name 1 to 64 code points
 * @throws AppError invalid_state where no higher `n` is left, conflict where other devices were
 *   faster each time, rate_limited, and what the account throws
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
 * Updates the signed name of the own account. Stores a newer one from the account server, sends
 * one that the server lacks, and signs the stored name again where its signer was revoked. A
 * device without a stored name, as after a reset, signs none, because the server can choose among
 * the names of revoked devices. It stores the name from the server to show it to the user.
 * @param given the profile that the account server has
 * @throws AppError conflict where another device was faster, and as `giveOwnName` does
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
  const kept = state.profiles.get(identity.account)
  if (kept !== null) {
    if (nameToSign(state) !== kept.name) rememberName(state, kept.name)
    if (kept.jws !== given) await account.signedProfiles.give({ body: { profile: kept.jws } })
    return
  }
  const name = nameToSign(state)
  if (name !== null) return signAndGive(device, account, name)
  const former = given === undefined ? null : nameBefore(log, given)
  if (former !== null) noteFormerName(state, { name: former, jws: given! })
}
