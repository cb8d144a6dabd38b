import type { Account } from '../api/port.ts'
import type { Profile } from '../api/rest/profiles.ts'
import type { Device } from '../device/device.ts'
import { type Handlers, keeperOf } from './context.ts'

/** Add the words to say now. Another device may have switched the public code on or off since. */
async function withCode(
  profile: Profile,
  device: Device | null,
  account: Account,
): Promise<Profile> {
  if (device === null) return profile
  const { followCode, publicWords } = await import('../device/public-code.ts')
  const active = await followCode(device, account)
  return { ...profile, public_code: active ? await publicWords(device, device.now()) : null }
}

export const profile: Handlers['profile'] = {
  read: async (_, { account, device }) => withCode(await account.profile.read({}), device, account),

  update: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    return withCode(await account.profile.update(input), keeper, account)
  },
}
