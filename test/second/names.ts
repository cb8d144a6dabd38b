/** Section 4a: the names that members sign for themselves. */
import { type Bytes, need, order, Refused, same } from './bytes.ts'
import { accountAt, deviceAt } from './ids.ts'
import { countAt, exactly, textAt, versionTwo } from './json.ts'
import { parseJws, thumbprint, verifyJws } from './jws.ts'
import { type KeyLog, newest } from './key-log.ts'

export interface Profile {
  readonly n: number
  readonly name: string
  readonly hash: Bytes
}

/** Checks one profile against the newest known log, and the profile accepted before. */
export function takeProfile(text: string, log: KeyLog, before: Profile | null): Profile {
  const jws = parseJws(text, 'profile+jws')
  const { payload } = jws
  versionTwo(payload)
  exactly(payload, ['v', 'account', 'device', 'n', 'name'])
  const account = accountAt(payload, 'account')
  const device = deviceAt(payload, 'device')
  const n = countAt(payload, 'n')
  const name = textAt(payload, 'name')
  const length = Array.from(name).length
  need(length >= 1 && length <= 64, 'bad_value')
  need(account === log.account, 'wrong_account')
  const signer = newest(log).devices.get(device)
  if (signer === undefined) throw new Refused('unknown_signer')
  need(signer.revokedAt === null, 'revoked_signer')
  need(jws.kid === thumbprint(signer.sign), 'kid_mismatch')
  verifyJws(jws, signer.sign)
  const taken = { n, name, hash: jws.hash }
  need(before === null || isNewer(taken, before), 'not_newer')
  return taken
}

/** Returns whether `n` is higher, or equal with a lower SHA-256 of the JWS. */
const isNewer = (a: Profile, b: Profile): boolean =>
  a.n > b.n || (a.n === b.n && !same(a.hash, b.hash) && order(a.hash, b.hash) < 0)

/** Returns the form in which names are compared (section 4a). */
export const folded = (name: string): string =>
  name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}\p{White_Space}\u2800]/gu, '')
    .toLowerCase()
    .replaceAll('ς', 'σ')

export type Mark = 'equal' | 'mixed_script'

/** Returns the marks of a name beside the other contacts’ own and given names. */
export function marks(name: string, others: readonly string[]): Mark[] {
  const plain = folded(name)
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Greek}/u, /\p{Script=Cyrillic}/u]
  const mixed = scripts.filter((script) => script.test(plain)).length > 1
  return [
    ...(others.some((other) => folded(other) === plain) ? (['equal'] as const) : []),
    ...(mixed ? (['mixed_script'] as const) : []),
  ]
}
