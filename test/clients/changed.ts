/** Signed structures with one member of another value, as JSON that no honest program writes. */
import { sign } from 'node:crypto'
import { base64url, fromBase64url, utf8 } from '../second/bytes.ts'
import { idText } from '../second/ids.ts'
import { thumbprint } from '../second/jws.ts'
import type { Random } from '../second/random.ts'
import { mutated } from '../second/rounds.ts'
import { type KeyPair, payloadOf } from '../second/signing.ts'

/** Values as JSON that most members do not have. */
const VALUES = (of: Random) => [
  'null',
  'true',
  'false',
  '0',
  '2',
  '-1',
  '-0',
  '1.0',
  '1e2',
  '9007199254740991',
  '9007199254740992',
  '4294967296',
  '1'.repeat(5000),
  '""',
  '"\\ud800"',
  '"\u00e9"',
  '"add"',
  '"leave"',
  '"owner"',
  '[]',
  '{}',
  '[{}]',
  '[[[[[[[[[1]]]]]]]]]',
  `"${base64url(of.bytes(32))}"`,
  `"${base64url(of.bytes(31))}"`,
  // Its last bits are not zero.
  `"${'A'.repeat(42)}B"`,
  `"${'A'.repeat(43)}="`,
  `"${idText('acc', of.bytes(16))}"`,
  `"${idText('dev', of.bytes(16)).toUpperCase()}"`,
  `"${idText('con', of.bytes(16))}"`,
  '{"seq":0,"head":""}',
  '{"kty":"OKP","crv":"Ed25519","x":"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}',
]

/** Returns the object as JSON, with a member of another value, removed, doubled or added. */
export function changedJson(of: Random, object: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(object).map(
    ([name, value]) => [JSON.stringify(name), JSON.stringify(value)] as const,
  )
  const at = of.below(members.length)
  const [name, value] = members[at]!
  const inner = JSON.parse(value) as unknown
  const other = of.pick(VALUES(of))
  const kind = of.below(8)
  if (kind === 0) members.splice(at, 1)
  else if (kind === 1) members.push([name, value])
  else if (kind === 2) members.push([of.pick(['"more"', '"__proto__"', '"V"', '"\\u0076"']), other])
  else if (kind > 4 && isObject(inner)) members[at] = [name, changedJson(of, inner)]
  else members[at] = [name, other]
  return `{${members.map((member) => member.join(':')).join(',')}}`
}
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0

/**
 * Returns a structure with a changed payload or header, signed again, or with a character of its
 * text changed.
 */
export function changedStructure(of: Random, jws: string, typ: string, signer: KeyPair): string {
  const kind = of.below(6)
  if (kind === 0) return mutated(of, jws, 1)
  const members = { alg: 'Ed25519', typ, kid: thumbprint(signer.publicKey) }
  const header = kind === 1 ? changedJson(of, members) : JSON.stringify(members)
  const text = new TextDecoder().decode(fromBase64url(jws.split('.')[1]!))
  const payload = kind === 1 ? text : changedJson(of, payloadOf(jws))
  const input = [header, payload].map((part) => base64url(utf8(part))).join('.')
  return `${input}.${base64url(new Uint8Array(sign(null, Buffer.from(input), signer.secret)))}`
}
