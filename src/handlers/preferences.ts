import type { Account } from '../api/port.ts'
import type { LocalDevice } from '../device/device.ts'
import { type Handlers, keeperOf } from './context.ts'

type Input = Parameters<Account['preferences']['update']>[0]

/**
 * Switches the public code. The account server receives the secret before the code is active, and
 * this device stores it afterwards.
 */
async function switched(device: LocalDevice, account: Account, input: Input, on: boolean) {
  const { keepPublicCode, shareCode } = await import('../device/codes/public-code.ts')
  const secret = on ? await shareCode(account) : null
  const updated = await account.preferences.update(input)
  keepPublicCode(device, secret)
  return updated
}

export const preferences: Handlers['preferences'] = {
  update: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    const { public_code: on } = input.body
    // Without a device there is no secret, and the account server rejects the request.
    return keeper === null || on === undefined
      ? account.preferences.update(input)
      : switched(keeper, account, input, on)
  },
}
