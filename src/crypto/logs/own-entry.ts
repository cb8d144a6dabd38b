/** A new device's check of the entry that added it (section 3). */
import { sameKeys, type LoggedKeys } from '../device-public-keys.ts'
import { generationAt, type LoggedDevice, type KeyLog } from './key-log.ts'
import { requireThat } from '../refusal.ts'

/**
 * Checks, on a device that asked to be approved, that it was added. `log` is the verified key
 * log, and continues `seen`, the newest entry in the answer of the approving device.
 * @returns the device, as in the log
 * @throws Refusal `not_in_log`, `own_keys_differ`, `added_before`, `generation_changed`,
 *   `not_active`
 */
export function checkOwnEntry(
  log: KeyLog,
  own: { readonly device: string; readonly keys: LoggedKeys },
  seen: number,
): LoggedDevice {
  const found = log.devices.get(own.device)
  requireThat(found !== undefined, 'not_in_log', 'the key log does not name this device')
  requireThat(
    sameKeys(found.keys, own.keys),
    'own_keys_differ',
    'the key log names other keys of it',
  )
  requireThat(found.addedAt > seen, 'added_before', 'the device was added before it was approved')
  // In the generation of that head, an entry after it that names a device is an `add`.
  const same = found.generation === generationAt(log, seen)
  requireThat(same, 'generation_changed', 'the account was reset before the device was added')
  requireThat(found.revokedAt === null, 'not_active', 'the device is revoked already')
  return found
}
