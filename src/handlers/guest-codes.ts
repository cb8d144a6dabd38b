import { every } from '../api/cursor.ts'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import { reachableFrom } from '../api/reachable.ts'
import type { GuestCode } from '../api/rest/guest-codes.ts'
import { encodeBase64url } from '../crypto/encoding/base64url.ts'
import { isId } from '../crypto/encoding/id.ts'
import { isWrong } from '../device/codes/clock.ts'
import { createGuestCode, forgetGuestCode, guestUrl } from '../device/connections/guests.ts'
import type { LocalDevice } from '../device/device.ts'
import { AppError } from '../errors.ts'
import { type Handlers, keeperOf } from './context.ts'

/** Checks whether words may be shown, which needs a device with a clock that is not wrong. */
const hasTime = (device: LocalDevice | null): boolean =>
  device !== null && !isWrong(device.freshness.clock(device.now()))

/**
 * Adds data that only this device has to a guest code.
 *
 * The data are whether the device has the secret, and the words that the owner currently says to
 * the guest.
 */
function decorated(
  guest: GuestCode,
  device: LocalDevice | null,
  isTimed = hasTime(device),
): GuestCode {
  if (device === null) return { ...guest, secret_here: false, code: null }
  const { state, codes, vault, now } = device
  const speaks = isTimed && guest.state === 'active' && codes.has(guest.id)
  const isHere = vault.has(guest.id)
  // Shows the label that the user gave on this device, even if the account server returns another.
  const stored = isHere ? state.guests.get(guest.id) : null
  return {
    ...guest,
    ...(stored === null ? {} : { label: stored.label, expires_at: timeAt(stored.expires_at) }),
    secret_here: isHere,
    code: speaks ? codes.own(guest.id, now()) : null,
  }
}

/**
 * Returns the secret of an active guest code.
 * @throws AppError with the reason if there is none
 */
function secretOf(id: string, { state, vault, now }: LocalDevice): Uint8Array {
  const guest = state.guests.get(id)
  if (guest === null)
    throw new AppError(
      'not_found',
      'There is no guest code with this id. GET /api/v1/guest-codes lists them.',
    )
  const at = guest.state === 'active' && guest.expires_at <= now() ? 'expired' : guest.state
  if (at !== 'active')
    throw new AppError('invalid_state', `This guest code is ${at}, so its link no longer works.`, {
      details: { state: at },
    })
  const secret = vault.get(id)
  if (secret === null)
    throw new AppError(
      'secret_unavailable',
      'Only the device that created this guest code has its secret. Use that device.',
    )
  return secret
}

/**
 * Returns the error for a token of scope `read`. Such a token may call every GET route, but this
 * picture contains the secret, which works even after the token has ended.
 */
const forWriters = () =>
  new AppError(
    'secret_unavailable',
    "This picture contains the guest's secret. Use a token with scope write.",
  )

type QrFormat = 'svg' | 'gif' | 'text'

/** Returns the format that a caller accepts. */
const acceptedFormat = (accept: string): QrFormat =>
  /\bimage\/gif\b/i.test(accept) && !/svg/i.test(accept) ? 'gif' : 'svg'

/** Returns a link as a QR code. */
async function qrCode(
  url: string,
  format: QrFormat,
): Promise<{ type: string; body: string | Uint8Array }> {
  const { encodeQR } = await import('qr')
  if (format === 'gif') return { type: 'image/gif', body: encodeQR(url, 'gif', { scale: 8 }) }
  if (format === 'svg') return { type: 'image/svg+xml', body: encodeQR(url, 'svg') }
  // A terminal has few lines and does not become dirty. Its background does not count as margin.
  const body = encodeQR(url, 'ascii', { ecc: 'low', border: 4 })
  return { type: 'text/plain; charset=utf-8', body }
}

export const guestCodes: Handlers['guestCodes'] = {
  list: async (page, { account, device }) => {
    const { items, next_cursor } = await account.guestCodes.list(page)
    const isTimed = hasTime(device)
    return { items: items.map((item) => decorated(item, device, isTimed)), next_cursor }
  },

  create: async ({ body }, { account, local }) => {
    const { label, expires_in: expiresIn, external_member_id: externalMember = null } = body
    const of = { label, expiresIn, externalMember }
    const { made, secret } = await createGuestCode(local, account, of, local.now())
    const url = guestUrl(local.backend(), made.id, secret)
    return { ...decorated(made, local), url, reachable: reachableFrom(url) }
  },

  delete: async ({ id }, context) => {
    const keeper = keeperOf(context)
    await context.account.guestCodes.delete({ id })
    if (keeper !== null) forgetGuestCode(keeper, id)
  },

  send: async ({ id, body: { to } }, { account, local }) => {
    const secret = encodeBase64url(secretOf(id, local))
    const body = { ...(to === undefined ? {} : { to }), secret }
    const sent = await account.deviceGuestCodes.send({ id, body })
    return { ...sent, ...decorated(sent, local) }
  },

  qr: async ({ id, format }, { local, accept, caller }) => {
    if (caller?.scope === 'read') throw forWriters()
    const url = guestUrl(local.backend(), id, secretOf(id, local))
    return qrCode(url, format ?? acceptedFormat(accept))
  },
}

const guestCodesOf = (account: Account, id: string): Promise<GuestCode[]> =>
  isId('ext_', id) ? every((query) => account.guestCodes.list(query)) : Promise.resolve([])

const forgetAll = (device: LocalDevice, codes: readonly GuestCode[]) => {
  for (const { id } of codes) forgetGuestCode(device, id)
}

export const externalMembers: Handlers['externalMembers'] = {
  delete: async ({ id }, context) => {
    const { account } = context
    const keeper = keeperOf(context)
    if (keeper === null) return account.externalMembers.delete({ id })
    // Listed before the deletion, which removes the link between a guest code and its external
    // member.
    const codes = await guestCodesOf(account, id)
    try {
      await account.externalMembers.delete({ id })
    } catch (error) {
      // An earlier request may have succeeded although its response was lost. The guest codes that
      // it revoked must no longer verify here.
      if (error instanceof AppError && error.code === 'not_found')
        forgetAll(
          keeper,
          codes.filter((code) => code.state === 'revoked' && keeper.vault.has(code.id)),
        )
      throw error
    }
    forgetAll(
      keeper,
      codes.filter((code) => code.external_member_id === id),
    )
  },
}
