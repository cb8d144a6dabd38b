/** The end of a first contact on this device: the words are deleted with it. */
import type { ContactReason } from '../../api/rest/first-contacts.ts'
import { Refusal } from '../../crypto/refusal.ts'
import type { FirstContactRow } from '../../state/first-contacts.ts'
import type { DeviceContext } from '../context.ts'
import { dropSecret } from './secrets.ts'

/**
 * Reads logs that the account server shows. One that breaks a rule is another log than the true one.
 * @throws Refusal ad_mismatch; what `read` throws beside
 */
export async function readingLogs<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Refusal('ad_mismatch', 'a log was refused', {}, { cause: error })
  }
}

/** Ends a first contact, for a reason, or with null because both sides have the same words. */
export const ending =
  (device: DeviceContext, row: FirstContactRow) =>
  (reason: ContactReason | null): void => {
    const { state } = device
    device.demandSeat()
    state.transaction(() => {
      dropSecret(device, row.invitation)
      state.firstContacts.put({ ...row, state: reason === null ? 'confirmed' : 'failed', reason })
    })
  }
