import type { PublicKey } from '../api/rest/profiles.ts'
import { decodeBase64url } from '../crypto/encoding/base64url.ts'
import { sealKeyId } from '../crypto/device-public-keys.ts'
import { isId } from '../crypto/encoding/id.ts'
import { thumbprint } from '../crypto/jose/jwk.ts'
import { verifyingKeyLog } from '../crypto/logs/key-log.ts'
import { type Refusal, onRefusalLater } from '../crypto/refusal.ts'
import { orStored } from '../device/copies/copies.ts'
import { newestOf, seqOf } from '../device/logs/key-log.ts'
import { readPages } from '../device/logs/log-pages.ts'
import { rememberedEntries, rememberedLog } from '../device/identity/key-log-cache.ts'
import { AppError } from '../errors.ts'
import { inSlices } from '../slices.ts'
import { MOST_CHARACTERS } from '../state/logs.ts'
import type { HandlerContext, Handlers } from './context.ts'

const doesNotHold = (cause: Refusal) =>
  new AppError(
    'conflict',
    `The key log of this account is not valid (${cause.reason}). Do not trust any of its keys.`,
    { cause },
  )

/** Returns the ids of the keys in the signed key log. The server's list of keys is not proof. */
async function vouchedFor(
  { account, device }: Pick<HandlerContext, 'account' | 'device'>,
  id: string,
): Promise<ReadonlySet<string>> {
  const verified = onRefusalLater(async () => {
    const remembered = device === null ? null : rememberedEntries(device.state, id)
    const { entries } = await readPages({
      read: (from) => account.keyLogs.read({ account: id, from }),
      known: remembered?.entries ?? [],
      most: MOST_CHARACTERS,
      seqOf,
    })
    const log = await inSlices(verifyingKeyLog(id, entries, remembered?.known))
    // A concurrent request may have received a revocation.
    return device === null ? log : newestOf(device.state, log)
  }, doesNotHold)
  const { active } = await orStored(verified, () => device && rememberedLog(device.state, id))
  return new Set(active.flatMap(({ keys, seal }) => [thumbprint(keys.sign), seal]))
}

const idOf = (item: PublicKey) =>
  item.use === 'sign' ? thumbprint(item.jwk) : sealKeyId(decodeBase64url(item.key))

export const profiles: Handlers['profiles'] = {
  /**
   * Lists an account's keys. A machine account's caller gets them as the account server lists them,
   * because only devices may read key logs.
   */
  keys: async (input, { account, device, byMachine }) => {
    if (!isId('acc_', input.id))
      throw new AppError('not_found', 'There is no account with this id.')
    const { items, next_cursor } = await account.profiles.keys(input)
    if (byMachine) return { items, next_cursor }
    const vouched = await vouchedFor({ account, device }, input.id)
    return {
      items: items.filter((item) => vouched.has(item.id) && idOf(item) === item.id),
      next_cursor,
    }
  },
}
