import type { Account } from '../api/port.ts'
import type { Profile } from '../api/rest/profiles.ts'
import { isWrong } from '../device/codes/clock.ts'
import type { LocalDevice } from '../device/device.ts'
import { type Handlers, keeperOf } from './context.ts'

/**
 * Adds the signed name, and the current words if the clock is right. Another device may have
 * switched the public code on or off since.
 */
async function withCode(
  profile: Profile,
  device: LocalDevice | null,
  account: Account,
): Promise<Profile> {
  if (device === null) return profile
  const { followCode, publicWords } = await import('../device/codes/public-code.ts')
  const active = await followCode(device, account)
  const at = device.now()
  const speaks = active && !isWrong(device.freshness.clock(at))
  const signed = device.state.profiles.get(device.identity.account)
  return {
    ...profile,
    display_name: signed?.name ?? profile.display_name,
    public_code: speaks ? await publicWords(device, at) : null,
  }
}

export const profile: Handlers['profile'] = {
  read: async (_, { account, device }) => withCode(await account.profile.read({}), device, account),

  update: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    if (keeper === null) return account.profile.update(input)
    const { display_name: name, ...rest } = input.body
    // First, because a handle that is taken must reject the request before anything is signed.
    const updated = await account.profile.update({ body: rest })
    if (name === undefined) return withCode(updated, keeper, account)
    const { giveOwnName } = await import('../device/trust/own-name.ts')
    await giveOwnName(keeper, account, name)
    return withCode({ ...updated, display_name: name }, keeper, account)
  },
}
