/** Random signed profiles beside a random key log, valid or with a single fault. */
import { base64url, fromBase64url, order, sha256, utf8 } from './bytes.ts'
import { idText } from './ids.ts'
import { type KeyLogHistory, keyLogHistory } from './key-log-histories.ts'
import type { Random } from './random.ts'
import { newDevice, newKeyPair, type Payload, signed, type TestDevice } from './signing.ts'

/** What a device gets; the profile `kept` is valid. */
export interface ProfileInput {
  readonly kept: string | null
  readonly next: string
  /** The reason of the kit, or `accepted`. */
  readonly reason: string
}

/** Members of a payload that break one rule, with its reason. */
const MEMBERS: Readonly<Record<string, readonly [string, (of: Random) => Payload]>> = {
  'a name': ['accepted', (of) => ({ name: nameOf(of, 1 + of.below(64)) })],
  'an empty name': ['bad_value', () => ({ name: '' })],
  'a long name': ['bad_value', (of) => ({ name: nameOf(of, 65 + of.below(10)) })],
  'half a surrogate pair': ['lone_surrogate', (of) => ({ name: `${nameOf(of, 3)}\ud800` })],
  'no name': ['missing_member', () => ({ name: undefined })],
  'no n': ['missing_member', () => ({ n: undefined })],
  'n as text': ['bad_value', () => ({ n: '1' })],
  'version 1': ['wrong_version', () => ({ v: 1 })],
  'unknown member': ['unknown_member', () => ({ at: 1 })],
  'other account': ['wrong_account', (of) => ({ account: idText('acc', of.bytes(16)) })],
  'a connection as device': ['bad_value', (of) => ({ device: idText('con', of.bytes(16)) })],
  'unknown device': ['unknown_signer', (of) => ({ device: newDevice(of).id })],
}

/** Headers that break one rule, with its reason. */
const HEADERS: Readonly<Record<string, readonly [string, Payload]>> = {
  'typ of a key log': ['wrong_typ', { typ: 'keylog+jws' }],
  'alg EdDSA': ['wrong_alg', { alg: 'EdDSA' }],
  'header more': ['extra_header', { crit: [] }],
}

/** Further rules: of signers, signatures and the profile before. */
const OTHERS = ['revoked device', 'key of another', 'signature bit', 'equal', 'same n', 'lower n']
export const PROFILES = [...Object.keys(MEMBERS), ...Object.keys(HEADERS), ...OTHERS]

/** Returns a text of this many code points, outside the BMP too. */
const nameOf = (of: Random, length: number): string =>
  Array.from({ length }, () => of.pick(['a', 'é', 'Я', ' ', '\u{1F511}', '\u{10400}'])).join('')

/** Returns an input of this kind, one of `PROFILES`. */
export function profile(of: Random, history: ProfileHistory, kind: string): ProfileInput {
  const { account, device, gone } = history
  const n = 1 + of.below(2 ** 40)
  const make = (members: Payload, key = device.sign, header: Payload = {}): string =>
    signed(
      'profile+jws',
      { v: 2, account, device: device.id, n, name: nameOf(of, 4), ...members },
      key,
      header,
    )
  const earlier = of.pick([null, make({ n: of.below(n) })])
  const input = { kept: earlier }
  const [reason, members] = MEMBERS[kind] ?? []
  if (members !== undefined) return { ...input, next: make(members(of)), reason: reason! }
  const [headerReason, header] = HEADERS[kind] ?? []
  if (header !== undefined)
    return { ...input, next: make({}, device.sign, header), reason: headerReason! }
  if (kind === 'revoked device')
    return { ...input, next: make({ device: gone.id }, gone.sign), reason: 'revoked_signer' }
  if (kind === 'key of another')
    return { ...input, next: make({}, newKeyPair(of)), reason: 'kid_mismatch' }
  if (kind === 'signature bit')
    return { ...input, next: bitChanged(of, make({})), reason: 'bad_signature' }
  const next = make({})
  if (kind === 'equal') return { ...input, kept: next, next, reason: 'not_newer' }
  if (kind === 'lower n')
    return { ...input, kept: make({ n: n + 1 + of.below(9) }), next, reason: 'not_newer' }
  const kept = make({})
  const isLower = order(sha256(utf8(next)), sha256(utf8(kept))) < 0
  return { ...input, kept, next, reason: isLower ? 'accepted' : 'not_newer' }
}

/** A history with an active device and a revoked one. */
export interface ProfileHistory extends KeyLogHistory {
  readonly device: TestDevice
  readonly gone: TestDevice
}

/** Returns a random history. */
export function profileHistory(of: Random): ProfileHistory {
  for (;;) {
    const history = keyLogHistory(of, 2 + of.below(5))
    const active = history.active.at(-1)!
    const gone = [...history.devices.values()].filter((one) => !active.includes(one))
    if (active.length > 0 && gone.length > 0)
      return { ...history, device: of.pick(active), gone: of.pick(gone) }
  }
}

/** Returns the JWS with one bit of S changed below its highest bytes, so that S stays below L. */
function bitChanged(of: Random, jws: string): string {
  const [head, body, signature] = jws.split('.')
  const data = fromBase64url(signature!)
  data[32 + of.below(28)]! ^= 1 << of.below(8)
  return `${head}.${body}.${base64url(data)}`
}
