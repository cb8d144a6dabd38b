/** Making a guest code: the secret is made here and travels in the link's fragment only, which no server ever sees. */
import { randomBytes } from 'node:crypto'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type { GuestCode } from '../api/rest/guest-codes.ts'
import { encodeBase64url } from '../crypto/base64url.ts'
import { PREFIX, newId } from '../crypto/id.ts'
import type { GuestRow } from '../state/guests.ts'
import type { Device } from './device.ts'

/** The link of a guest code: the page's address, and the secret in the fragment (protocol section 5). */
export const guestUrl = (publicUrl: string, id: string, secret: Uint8Array): string =>
  `${publicUrl}/g/${id}#${encodeBase64url(secret)}`

/** What this device keeps of a guest code. */
export const guestRow = (guest: GuestCode): GuestRow => ({
  id: guest.id,
  label: guest.label,
  state: guest.state,
  expires_at: Date.parse(guest.expires_at),
  created_at: Date.parse(guest.created_at),
})

/**
 * Make a guest code. The secret is kept before the server hears of the code, as with connections.
 * @param expiresIn seconds
 * @param now Unix milliseconds
 */
export async function createGuestCode(
  { state, vault, codes, demandSeat }: Device,
  account: Account,
  { label, expiresIn }: { label: string; expiresIn: number },
  now: number,
): Promise<{ made: GuestCode; secret: Uint8Array }> {
  const id = newId(PREFIX.guest, now)
  const secret = new Uint8Array(randomBytes(32))
  vault.put(id, secret)
  const made = await account.deviceGuestCodes.create({
    body: { id, label, expires_at: timeAt(now + expiresIn * 1000) },
  })
  demandSeat()
  const row = guestRow(made)
  state.guests.put(row)
  codes.putGuest(row)
  return { made, secret }
}
