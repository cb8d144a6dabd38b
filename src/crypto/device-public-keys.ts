/** A device's public keys (section 3), as key logs and protocol 2 use them, and the account id. */
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { decodeBase64url, encodeBase64url } from './encoding/base64url.ts'
import { labelled, requireLength } from './encoding/hash-input.ts'
import { formatId, ID_PREFIX } from './encoding/id.ts'
import type { PublicJwk } from './jose/jwk.ts'

/** Public keys as a key log names them. */
export type LoggedKeys = {
  /** Ed25519 */
  readonly sign: PublicJwk
  /** `sealKeyId` of the sealing key; its bytes are sent beside the log. */
  readonly seal: string
  /** Ed25519 */
  readonly auth: PublicJwk
}

/** 32 bytes each. */
export type DevicePublicKeys = {
  /** Ed25519 */
  readonly sign: Uint8Array
  /** SHA-256 of the sealing key's 1,216 bytes */
  readonly sealHash: Uint8Array
  /** Ed25519 */
  readonly auth: Uint8Array
}

/**
 * Returns the name of a sealing key in key logs and envelopes: base64url SHA-256 of its bytes.
 */
export const sealKeyId = (publicKey: Uint8Array): string => encodeBase64url(sha256(publicKey))

/** Returns the bytes of keys that were read from a key log. */
export const rawKeys = ({ sign, seal, auth }: LoggedKeys): DevicePublicKeys => ({
  sign: decodeBase64url(sign.x),
  sealHash: decodeBase64url(seal),
  auth: decodeBase64url(auth.x),
})

/**
 * Returns `sign || SHA-256(seal) || auth`, 96 bytes.
 * @throws Refusal `bad_length`
 */
export function publicKeyBytes({ sign, sealHash, auth }: DevicePublicKeys): Uint8Array {
  requireLength(sign, 32, 'a signing key')
  requireLength(sealHash, 32, 'the hash of a sealing key')
  requireLength(auth, 32, 'an authentication key')
  return concatBytes(sign, sealHash, auth)
}

/** Whether two devices have the same public keys. */
export const sameKeys = (one: LoggedKeys, other: LoggedKeys): boolean =>
  one.sign.x === other.sign.x && one.seal === other.seal && one.auth.x === other.auth.x

/**
 * Returns the id of the account that begins with these keys. They are the keys of entry 0 of its
 * key log; the salt is there too, 32 random bytes. A server cannot present other first keys under
 * the id. Finding keys for the id of another account takes 2^128 hashes; finding two own sets of
 * keys with one id takes 2^64.
 * @throws Refusal `bad_length`
 */
export function accountIdOf(first: DevicePublicKeys, salt: Uint8Array): string {
  requireLength(salt, 32, 'a salt')
  const hash = sha256(labelled('countersign/v2/account', publicKeyBytes(first), salt))
  return formatId(ID_PREFIX.account, hash.subarray(0, 16))
}
