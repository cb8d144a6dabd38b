import { every } from '../api/cursor.ts'
import type { Account } from '../api/port.ts'
import type { GuestCode } from '../api/rest/guest-codes.ts'
import { isId } from '../crypto/encoding/id.ts'
import type { LocalDevice } from '../device/device.ts'
import { forgetGuestCode } from '../device/connections/guests.ts'
import { AppError } from '../errors.ts'
import { type Handlers, keeperOf } from './context.ts'

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
    // Read before the deletion, which removes the link between a guest code and its external
    // member.
    const codes = await guestCodesOf(account, id)
    try {
      await account.externalMembers.delete({ id })
    } catch (error) {
      // An earlier request may have succeeded and its answer may be lost. Revoked guest codes
      // must no longer verify here.
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
