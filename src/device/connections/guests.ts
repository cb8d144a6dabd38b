/**
 * Creates guest codes. The secret is created on this device, and only the link's fragment contains
 * it.
 *
 * Browsers do not send the fragment to the server.
 */
import { randomBytes } from 'node:crypto'
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import type { GuestCode } from '../../api/rest/guest-codes.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { ID_PREFIX, newId } from '../../crypto/encoding/id.ts'
import { AppError, statusOf } from '../../errors.ts'
import type { GuestRow } from '../../state/guests.ts'
import type { DeviceContext } from '../context.ts'

/**
 * Returns the link of a guest code: the page's URL with the secret in the fragment.
 * @see protocol, section 5
 */
export const guestUrl = (publicUrl: string, id: string, secret: Uint8Array): string =>
  `${publicUrl}/g/${id}#${encodeBase64url(secret)}`

/**
 * Returns the row that this device stores. It names the external member only if the code is active.
 */
export function guestRow(guest: GuestCode): GuestRow {
  const external = guest.state === 'active' ? guest.external_member : null
  return {
    id: guest.id,
    label: guest.label,
    state: guest.state,
    expires_at: Date.parse(guest.expires_at),
    created_at: Date.parse(guest.created_at),
    external_member_id: external?.id ?? null,
    external_member_name: external?.display_name ?? null,
  }
}

/**
 * Returns the updated row of a guest code, for a sync on the device that created the secret.
 *
 * The label, the external member and the expiry are this device's. The account server can only end
 * the code or make it expire earlier.
 */
export function guestAfter(known: GuestRow, listed: GuestRow): GuestRow {
  const { state } = listed
  const expires_at = Math.min(known.expires_at, listed.expires_at)
  return state === 'active'
    ? { ...known, expires_at }
    : { ...listed, label: known.label, expires_at }
}

/** Checks whether a sync has nothing to change in the stored row of a guest code. */
export const isSameGuest = (one: GuestRow, other: GuestRow): boolean =>
  one.state === other.state &&
  one.label === other.label &&
  one.expires_at === other.expires_at &&
  one.external_member_id === other.external_member_id &&
  one.external_member_name === other.external_member_name

/**
 * Creates a guest code. The secret is stored before the request is sent, as for connections.
 * @param of `expiresIn` is in seconds; `externalMember` is the id of the external member that the
 *   code is for, or null
 * @param now Unix milliseconds
 */
export async function createGuestCode(
  { state, vault, codes, requireSession }: DeviceContext,
  account: Account,
  of: { label: string; expiresIn: number; externalMember?: string | null },
  now: number,
): Promise<{ made: GuestCode; secret: Uint8Array }> {
  const { label, expiresIn, externalMember: external_member_id = null } = of
  const id = newId(ID_PREFIX.guest, now)
  const secret = new Uint8Array(randomBytes(32))
  vault.put(id, secret)
  const expires_at = timeAt(now + expiresIn * 1000)
  const body = { id, label, expires_at, external_member_id }
  const made = await account.deviceGuestCodes.create({ body }).catch((error: unknown) => {
    // A rejected request created nothing. A request without a response may have created the code.
    if (error instanceof AppError && statusOf(error.code) < 500) vault.delete(id)
    throw error
  })
  requireSession()
  // Use the external member only if the account server names the requested one.
  const { external_member: answered } = made
  const external_member = answered?.id === external_member_id ? answered : null
  const row = guestRow({ ...made, id, label, expires_at, state: 'active', external_member })
  state.guests.put(row)
  codes.putGuest(row)
  return { made, secret }
}

/** Deletes a revoked guest code's secret, so that its words no longer verify. */
export function forgetGuestCode(
  device: DeviceContext & { readonly sync: { changed(id: string): void } },
  id: string,
): void {
  const { state, vault, codes, sync } = device
  sync.changed(id)
  codes.remove(id)
  state.transaction(() => {
    vault.delete(id)
    state.guests.end(id, 'revoked')
  })
}
