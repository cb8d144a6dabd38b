/**
 * Entries that no roster and no key log takes, by what is wrong with them, signed by a device that
 * keeps to no rule.
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import type { Reason } from '../../src/crypto/refusal.ts'

const { Point, utils } = ed25519
const utf8 = (text: string) => new TextEncoder().encode(text)
/** A point of order 8. */
const TORSION = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05')

const little = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

/** A signature with a torsion component in R or in the public key. */
function torsionSignature(message: Uint8Array, seed: Uint8Array): Uint8Array {
  const { scalar, point } = utils.getExtendedPublicKey(seed)
  const { ORDER } = Point.Fn
  const nonce = 17n
  const R = Point.BASE.multiply(nonce).add(TORSION).toBytes()
  const k = little(sha512(Buffer.concat([R, point.toBytes(), message]))) % ORDER
  const S = ((nonce + k * scalar) % ORDER).toString(16).padStart(64, '0')
  return new Uint8Array([...R, ...Buffer.from(S, 'hex').reverse()])
}

/** The public key of a seed plus a point of order 8, base64url. */
export const torsionKey = (seed: Uint8Array): string =>
  encodeBase64url(utils.getExtendedPublicKey(seed).point.add(TORSION).toBytes())

type Sign = (message: Uint8Array, seed: Uint8Array) => Uint8Array

/** A JWS with the header of another over any text as payload. */
export function signedText(
  like: string,
  payload: string,
  seed: Uint8Array,
  sign: Sign = ed25519.sign,
): string {
  const input = `${like.split('.')[0]}.${encodeBase64url(utf8(payload))}`
  return `${input}.${encodeBase64url(sign(utf8(input), seed))}`
}

/** What each op has besides the members of every entry. */
const OPS: Readonly<Record<string, readonly string[]>> = {
  add: ['member', 'member_log', 'role', 'consent'],
  remove: ['member', 'k_commit'],
  role: ['member', 'role'],
  leave: [],
  rotate: ['k_commit'],
  confirm: ['member', 'member_log', 'k_commit'],
  end: [],
}

/**
 * Malformed entries of a roster.
 * @param rotation the next entry, which would be good: a rotation; signed with `seed` (32 bytes)
 */
export function malformedEntries(
  rotation: string,
  seed: Uint8Array,
): [what: string, entry: string, reason: Reason][] {
  const payload = JSON.parse(
    Buffer.from(rotation.split('.')[1]!, 'base64url').toString(),
  ) as Record<string, unknown>
  const { connection, actor, actor_log, k_commit, ...rest } = payload
  const own = { connection, actor, actor_log }
  const others = { member: actor, member_log: actor_log, role: 'member', consent: 'x', k_commit }
  const signed = (text: string, sign?: Sign) => signedText(rotation, text, seed, sign)
  /** The rotation with one more member, as text. */
  const more = (member: string) => signed(JSON.stringify(payload).replace(/\}$/, `,${member}}`))
  const superfluous = Object.entries(OPS).flatMap(([op, uses]) => {
    const members = Object.entries(others).filter(([name]) => uses.includes(name))
    const entry = { ...rest, ...own, op, ...Object.fromEntries(members) }
    const extra = Object.entries({ ...others, replaces: connection }).filter(
      ([name]) => !uses.includes(name),
    )
    return extra.map(([name, value]): [string, string, Reason] => [
      `${op} with ${name}`,
      signed(JSON.stringify({ ...entry, [name]: value })),
      name === 'k_commit' ? 'superfluous_k_commit' : 'superfluous_member',
    ])
  })
  return [
    ['level 9', more('"x":[[[[[[[[[]]]]]]]]]'), 'too_deep'],
    ['2^53', signed(JSON.stringify({ ...payload, at: 2 ** 53 })), 'bad_value'],
    ['a lone surrogate', more(String.raw`"x":"\ud800"`), 'lone_surrogate'],
    ['place 100,000', signed(JSON.stringify({ ...payload, seq: 100_000 })), 'log_full'],
    ['torsion in R', signed(JSON.stringify(payload), torsionSignature), 'bad_signature'],
    ...superfluous,
  ]
}
