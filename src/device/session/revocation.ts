/**
 * Revokes another device of the account.
 *
 * Only the key log decides which devices belong to the account, and only a device can append to it.
 * Every secret that the revoked device had is replaced.
 */
import type { Account } from '../../api/port.ts'
import { revokeDevice } from '../../crypto/logs/key-log-entries.ts'
import { AppError } from '../../errors.ts'
import type { LocalDevice } from '../device.ts'
import { continueKeyLog, withLogRefusals, rememberKeyLog } from '../logs/key-log.ts'

/**
 * Revokes a device that the key log names, or deletes a device that waits for approval.
 *
 * If the device is already revoked, only does the pending rotations, because a thief may have
 * signed the device out.
 * @throws AppError not_found for an unknown device, invalid_state for this device itself, and what
 *   `continueKeyLog` and the account server throw
 */
export async function revoke(device: LocalDevice, account: Account, id: string): Promise<void> {
  const { state, identity, now, sync, requireSession } = device
  const own = identity.device
  if (id === own)
    throw new AppError(
      'invalid_state',
      'This is the device that answers: "countersignd logout" revokes it and forgets what it holds.',
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
