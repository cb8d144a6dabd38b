/**
 * The three key pairs of a device (section 3): signing, sealing, and authentication, which proves
 * the session and nothing else. Made on the device; the secrets belong in the keychain.
 */
import { ed25519, x25519 } from '@noble/curves/ed25519.js'
import { randomBytes } from '@noble/hashes/utils.js'
import { publicJwk, type PublicJwk } from './jwk.ts'
import { demand } from './refusal.ts'

/** `secret` is the Ed25519 seed (RFC 8032) or the X25519 scalar (RFC 7748), 32 bytes. */
export type KeyPair = { secret: Uint8Array; jwk: PublicJwk }
export type KeyUse = 'sign' | 'seal' | 'auth'
export type DeviceKeys = Record<KeyUse, KeyPair>
/** The public halves, as a key log holds them. */
export type DeviceJwks = Record<KeyUse, PublicJwk>

/** Three new key pairs. */
export function newDeviceKeys(): DeviceKeys {
  return deviceKeysFrom({ sign: randomBytes(32), seal: randomBytes(32), auth: randomBytes(32) })
}

/** The key pairs of three kept secrets, 32 bytes each. Throws `bad_length`. */
export function deviceKeysFrom(secrets: Record<KeyUse, Uint8Array>): DeviceKeys {
  const { sign, seal, auth } = secrets
  for (const secret of [sign, seal, auth]) {
    demand(secret.length === 32, 'bad_length', 'a device secret is 32 bytes')
  }
  return {
    sign: { secret: sign, jwk: publicJwk('Ed25519', ed25519.getPublicKey(sign)) },
    seal: { secret: seal, jwk: publicJwk('X25519', x25519.getPublicKey(seal)) },
    auth: { secret: auth, jwk: publicJwk('Ed25519', ed25519.getPublicKey(auth)) },
  }
}

/** The public halves of a device's keys. */
export function publicKeys(keys: DeviceKeys): DeviceJwks {
  return { sign: keys.sign.jwk, seal: keys.seal.jwk, auth: keys.auth.jwk }
}

/** Whether two sets of public keys are the same. */
export const sameKeys = (one: DeviceJwks, other: DeviceJwks): boolean =>
  (['sign', 'seal', 'auth'] as const).every(
    (use) => one[use].crv === other[use].crv && one[use].x === other[use].x,
  )
