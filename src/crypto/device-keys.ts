/**
 * Creates a device's three key pairs (section 3): signing, sealing and authentication.
 *
 * The authentication key only proves the session. The device creates the pairs itself, and the
 * secrets must be stored in the keychain.
 */
import { randomBytes } from '@noble/hashes/utils.js'
import { sealKeyId, type LoggedKeys } from './device-public-keys.ts'
import { ed25519 } from './ed25519.ts'
import { encodeBase64url } from './encoding/base64url.ts'
import { requireLength } from './encoding/hash-input.ts'
import type { PublicJwk } from './jose/jwk.ts'
import type { SealKeyPair } from './seal-key.ts'

/** `secret` is the Ed25519 seed (RFC 8032), 32 bytes. */
export type KeyPair = { readonly secret: Uint8Array; readonly jwk: PublicJwk }

export type DeviceKeyPairs = {
  readonly sign: KeyPair
  readonly seal: SealKeyPair
  readonly auth: KeyPair
}

/** Returns three new key pairs. */
export async function newDeviceKeys(): Promise<DeviceKeyPairs> {
  const { newSealKey } = await import('./seal-key.ts')
  const seal = await newSealKey()
  return { sign: signingKeyFrom(randomBytes(32)), seal, auth: signingKeyFrom(randomBytes(32)) }
}

/**
 * Returns the Ed25519 key pair of a seed, 32 bytes.
 * @throws Refusal `bad_length`
 */
export function signingKeyFrom(secret: Uint8Array): KeyPair {
  requireLength(secret, 32, 'an Ed25519 seed')
  // The public key is a multiple of the base point, so its order need not be checked.
  const x = encodeBase64url(ed25519.publicKey(secret))
  return { secret, jwk: { kty: 'OKP', crv: 'Ed25519', x } }
}

/** Returns the public halves of a device's keys. */
export const publicKeys = ({ sign, seal, auth }: DeviceKeyPairs): LoggedKeys => ({
  sign: sign.jwk,
  seal: sealKeyId(seal.publicKey),
  auth: auth.jwk,
})
