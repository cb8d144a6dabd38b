/**
 * Revokes another device of the account.
 *
 * Only the key log defines which devices belong to the account, and only a device can append to
 * it. Every secret that the device had is replaced.
 */
import type { Account } from '../../api/port.ts'
import { revokeDevice } from '../../crypto/logs/key-log-entries.ts'
import { AppError } from '../../errors.ts'
import type { LocalDevice } from '../device.ts'
import { continueKeyLog, withLogRefusals, rememberKeyLog } from '../logs/key-log.ts'

/**
 * Revokes a device that the key log names, or removes one that waits for approval.
 *
 * A device that is already revoked stays revoked, and the pending rotations are done: a thief may
 * have signed it out.
 * @throws AppError not_found for an unknown device, invalid_state for the device that answers,
 *   and what `continueKeyLog` and the account throw
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
  // A running sync may have passed the connections already. Failures are in the report of the new
  // run, and the next sync continues.
  await sync.runAnew('request')
}
