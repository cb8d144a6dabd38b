/**
 * Revokes another device of the account. The key log alone says which devices belong to it, and
 * only a device can write there. Every secret that the device knew is replaced.
 */
import type { Account } from '../../api/port.ts'
import { revokeDevice } from '../../crypto/logs/key-log-entries.ts'
import { AppError } from '../../errors.ts'
import type { Device } from '../device.ts'
import { continueKeyLog, judged, rememberKeyLog } from '../logs/key-log.ts'

/**
 * Revoke a device that the key log names; turn away one that waits for approval. One that is
 * revoked already stays so, and what is due for it is done: a thief may have signed it out.
 * @throws AppError not_found for one that is unknown, invalid_state for the device that answers,
 *   and what `continueKeyLog` and the account throw
 */
export async function revoke(device: Device, account: Account, id: string): Promise<void> {
  const { state, identity, now, sync, demandSeat } = device
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
  demandSeat()
  judged(() => rememberKeyLog(device, log))
  if (!log.devices.has(id)) {
    await account.devices.delete({ id })
    return
  }
  // One that began before may have passed the connections already. What goes wrong stands in its report, and the next one goes on.
  await sync.runAnew('request')
}
