import type { Account } from '../api/port.ts'
import type { Profile } from '../api/rest/profiles.ts'
import { isWrong } from '../device/clock.ts'
import type { Device } from '../device/device.ts'
import { type Handlers, keeperOf } from './context.ts'

/**
 * Add the words to say now, where the minute is known. Another device may have switched the public
 * code on or off since.
 */
async function withCode(
  profile: Profile,
  device: Device | null,
  account: Account,
): Promise<Profile> {
  if (device === null) return profile
  const { followCode, publicWords } = await import('../device/public-code.ts')
  const active = await followCode(device, account)
  const at = device.now()
  const speaks = active && !isWrong(device.freshness.clock(at))
  return { ...profile, public_code: speaks ? await publicWords(device, at) : null }
}

export const profile: Handlers['profile'] = {
  read: async (_, { account, device }) => withCode(await account.profile.read({}), device, account),

  update: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    return withCode(await account.profile.update(input), keeper, account)
  },
}
