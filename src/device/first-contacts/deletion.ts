/** Ends first contacts on this device. The words are deleted at the end. */
import type { ContactReason } from '../../api/rest/first-contacts.ts'
import { Refusal } from '../../crypto/refusal.ts'
import type { FirstContactRow } from '../../state/first-contacts.ts'
import type { DeviceContext } from '../context.ts'
import { dropSecret } from './secrets.ts'

/**
 * Runs a function that reads logs of the account server, and maps any Refusal to ad_mismatch.
 *
 * A log that breaks a rule differs from the true one.
 * @throws Refusal ad_mismatch, and what `read` throws otherwise
 */
export async function readingLogs<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Refusal('ad_mismatch', 'a log was refused', {}, { cause: error })
  }
}

/**
 * Returns a function that ends a first contact.
 *
 * Its `reason` is null if both sides have the same words.
 */
export const ending =
  (device: DeviceContext, row: FirstContactRow) =>
  (reason: ContactReason | null): void => {
    const { state } = device
    device.requireSession()
    state.transaction(() => {
      dropSecret(device, row.invitation)
      state.firstContacts.put({ ...row, state: reason === null ? 'confirmed' : 'failed', reason })
    })
  }
