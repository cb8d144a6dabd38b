/** Making a guest code: the secret is made here and travels in the link's fragment only, which no server ever sees. */
import { randomBytes } from 'node:crypto'
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import type { GuestCode } from '../../api/rest/guest-codes.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { PREFIX, newId } from '../../crypto/encoding/id.ts'
import { AppError, statusOf } from '../../errors.ts'
import type { GuestRow } from '../../state/guests.ts'
import type { DeviceContext } from '../context.ts'

/** The link of a guest code: the page's address, and the secret in the fragment (protocol section 5). */
export const guestUrl = (publicUrl: string, id: string, secret: Uint8Array): string =>
  `${publicUrl}/g/${id}#${encodeBase64url(secret)}`

/** What this device keeps of a guest code: whom it is for only while its words can verify. */
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
 * What a sync keeps of a guest code whose secret this device made: the label, the external member and
 * the time of expiry are its own, and the account server can only end it, or end it earlier.
 */
export function guestAfter(known: GuestRow, listed: GuestRow): GuestRow {
  const { state } = listed
  const expires_at = Math.min(known.expires_at, listed.expires_at)
  return state === 'active'
    ? { ...known, expires_at }
    : { ...listed, label: known.label, expires_at }
}

/** Whether a sync finds nothing to change in what this device keeps of a guest code. */
export const isSameGuest = (one: GuestRow, other: GuestRow): boolean =>
  one.state === other.state &&
  one.label === other.label &&
  one.expires_at === other.expires_at &&
  one.external_member_id === other.external_member_id &&
  one.external_member_name === other.external_member_name

/**
 * Make a guest code. The secret is kept before the server hears of the code, as with connections.
 * @param of `expiresIn` in seconds; `externalMember`: the id of whom it is for, who is the account's; null for nobody who is kept
 * @param now Unix milliseconds
 */
export async function createGuestCode(
  { state, vault, codes, demandSeat }: DeviceContext,
  account: Account,
  of: { label: string; expiresIn: number; externalMember?: string | null },
  now: number,
): Promise<{ made: GuestCode; secret: Uint8Array }> {
  const { label, expiresIn, externalMember: external_member_id = null } = of
  const id = newId(PREFIX.guest, now)
  const secret = new Uint8Array(randomBytes(32))
  vault.put(id, secret)
  const expires_at = timeAt(now + expiresIn * 1000)
  const body = { id, label, expires_at, external_member_id }
  const made = await account.deviceGuestCodes.create({ body }).catch((error: unknown) => {
    // What was refused is not there; what was not answered may be.
    if (error instanceof AppError && statusOf(error.code) < 500) vault.delete(id)
    throw error
  })
  demandSeat()
  // The account server names the external member that was asked for, and no other.
  const { external_member: answered } = made
  const external_member = answered?.id === external_member_id ? answered : null
  const row = guestRow({ ...made, id, label, expires_at, state: 'active', external_member })
  state.guests.put(row)
  codes.putGuest(row)
  return { made, secret }
}

/** The account server has revoked a guest code: here its words are nobody's from now on, and its secret is gone. */
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
