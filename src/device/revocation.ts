/**
 * Revokes another device of the account. The key log alone says which devices belong to it, and
 * only a device can write there. Every secret that the device knew is replaced.
 */
import type { Account } from '../api/port.ts'
import { recoveryEntry } from '../crypto/key-log.ts'
import { revokeDevice } from '../crypto/key-log-entries.ts'
import { AppError } from '../errors.ts'
import type { Device } from './device.ts'
import { continueKeyLog, rememberKeyLog } from './key-log.ts'
import { FOREIGN_KEY } from './recovery-notice.ts'

const SET_THE_KEY = `This device set the recovery key in force, which a revocation does not end. If you have its paper, there is nothing to do. If not: ${FOREIGN_KEY}`

/**
 * Revoke a device that the key log names; turn away one that waits for approval. One that is
 * revoked already stays so, and what is due for it is done: a thief may have signed it out.
 * @returns what the person has to know, where the device set the recovery key in force; else null
 * @throws AppError not_found for one that is unknown, invalid_state for the device that answers,
 *   and what `continueKeyLog` and the account throw
 */
export async function revoke(device: Device, account: Account, id: string): Promise<string | null> {
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
  rememberKeyLog(device, log)
  if (!log.devices.has(id)) {
    await account.devices.delete({ id })
    return null
  }
  // One that began before may have passed the connections already. What goes wrong stands in its report, and the next one goes on.
  await sync.runAnew('request')
  return recoveryEntry(log)?.by === id ? SET_THE_KEY : null
}
