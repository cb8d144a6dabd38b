/** Builds the entries that the generators need. */
import { sign as signBytes, type KeyObject } from 'node:crypto'
import type { PublicKeys } from './account-id.ts'
import { base64url, type Bytes, concat, sha256, utf8 } from './bytes.ts'
import { idText } from './ids.ts'
import { thumbprint } from './jws.ts'
import type { Random } from './random.ts'
import { privateKeyOf, publicOf, recoveryInput } from './recovery.ts'

export interface KeyPair {
  readonly secret: KeyObject
  readonly publicKey: Bytes
}
export const newKeyPair = (of: Random): KeyPair => {
  const seed = of.bytes(32)
  return { secret: privateKeyOf(seed), publicKey: publicOf(seed) }
}
export const jwk = (key: Bytes) => ({ kty: 'OKP', crv: 'Ed25519', x: base64url(key) }) as const

export interface TestDevice {
  readonly id: string
  readonly raw: Bytes
  readonly sign: KeyPair
  readonly auth: KeyPair
  readonly seal: Bytes
  readonly keys: PublicKeys
}
export function newDevice(of: Random): TestDevice {
  const [raw, sign, auth, seal] = [of.bytes(16), newKeyPair(of), newKeyPair(of), of.bytes(32)]
  const keys = { sign: sign.publicKey, seal, auth: auth.publicKey }
  return { id: idText('dev', raw), raw, sign, auth, seal, keys }
}
/** Returns `keys` of an entry. */
export const keysJson = (keys: PublicKeys) => ({
  sign: jwk(keys.sign),
  seal: base64url(keys.seal),
  auth: jwk(keys.auth),
})

export type Payload = Readonly<Record<string, unknown>>

/** Returns a compact JWS; `header` replaces members of the header. */
export function signed(typ: string, payload: Payload, key: KeyPair, header: Payload = {}): string {
  const head = { alg: 'Ed25519', typ, kid: thumbprint(key.publicKey), ...header }
  const input = [head, payload].map((part) => base64url(utf8(JSON.stringify(part)))).join('.')
  return `${input}.${base64url(signBytes(null, utf8(input), key.secret))}`
}
export const hashText = (jws: string): string => base64url(sha256(utf8(jws)))
export const payloadOf = (jws: string): Payload =>
  JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString()) as Payload

/** Returns `recovery_sig` of a reset. */
export const resetSig = (
  key: KeyPair,
  account: Bytes,
  seq: number,
  prev: Bytes,
  device: TestDevice,
): string => {
  const { sign, seal, auth } = device.keys
  const body = concat(device.raw, sign, seal, auth)
  return base64url(signBytes(null, recoveryInput(1, account, seq, prev, body), key.secret))
}
/** Returns `recovery_sig` of a recovery. */
export const recoverySig = (
  key: KeyPair,
  account: Bytes,
  seq: number,
  prev: Bytes,
  named: Bytes,
): string => base64url(signBytes(null, recoveryInput(2, account, seq, prev, named), key.secret))
