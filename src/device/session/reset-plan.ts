/**
 * Prepares a reset: what the recovery key must sign, and whether it is the right key.
 *
 * The words on the paper stay in the command line, so this device never has them.
 */
import type { ResetPlan } from '../../api/local/index.ts'
import type { UnauthenticatedClient } from '../../api/port.ts'
import { publicKeys } from '../../crypto/device-keys.ts'
import { linkingKeys } from '../../crypto/logs/generations.ts'
import { placeAfterHead } from '../../crypto/logs/key-log-entries.ts'
import { AppError } from '../../errors.ts'
import { type SignInContext, opensOf, planned } from './sign-in-enrolment.ts'
import type { SignInCredential } from './credentials.ts'
import type { Opens } from './sign-in-way.ts'

const noKey = () =>
  new AppError(
    'invalid_state',
    'This account has no recovery key, so no paper can reset it. Nothing was reset. A reset without --recovery-key works, but then all contacts have to confirm the account again.',
    { details: { state: 'no_recovery_key' } },
  )

const otherKey = () =>
  new AppError(
    'invalid_state',
    'These are not the words of this account’s recovery key. The paper belongs to another account, or was replaced by a newer one. Nothing was reset. Use the newest paper of this account.',
    { details: { state: 'other_recovery_key' } },
  )

/**
 * Returns what a credential gives access to, if the account can be reset with this recovery key.
 * @param key the recovery key, `x` of its JWK; null for a reset without a recovery key
 * @throws AppError invalid_state if the key would not link any generation, and as `opensOf` does
 */
export async function opensForReset(
  door: UnauthenticatedClient,
  credential: SignInCredential,
  key: string | null,
): Promise<Opens> {
  const opens = await opensOf(door, credential)
  const { log } = opens
  if (key === null || log === null) return opens
  const keys = linkingKeys(log.generations)
  if (keys.length === 0) throw noKey()
  if (!keys.includes(key)) throw otherKey()
  return opens
}

/**
 * Returns what the recovery key must sign for the reset.
 * @throws AppError as `planned` does: invalid_state if the account has no device
 */
export async function resetPlan(
  ground: SignInContext,
  credential: SignInCredential,
  opens: Opens,
): Promise<ResetPlan> {
  const { draft } = await planned(ground, credential, opens, { reset: true })
  const log = opens.log!
  const hasKey = linkingKeys(log.generations).length > 0
  const { device } = draft
  // The account server accepted the reset earlier, but its response was lost.
  if (log.devices.has(device)) return { has_recovery_key: hasKey, unsigned: null }
  const unsigned = { ...placeAfterHead(log), device, keys: publicKeys(draft.keys) }
  return { has_recovery_key: hasKey, unsigned }
}
