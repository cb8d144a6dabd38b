/** A device's public keys (section 3), as key logs and protocol 2 use them, and account ids. */
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { decodeBase64url, encodeBase64url } from './encoding/base64url.ts'
import { labelled, requireLength } from './encoding/hash-input.ts'
import { formatId, ID_PREFIX } from './encoding/id.ts'
import type { PublicJwk } from './jose/jwk.ts'

/** A device's public keys in the form of a key log entry. */
export type LoggedKeys = {
  /** Ed25519 */
  readonly sign: PublicJwk
  /** The id of the sealing key (`sealKeyId`). Its bytes are sent separately from the log. */
  readonly seal: string
  /** Ed25519 */
  readonly auth: PublicJwk
}

/** A device's public keys as bytes, 32 bytes each. */
export type DevicePublicKeys = {
  /** Ed25519 */
  readonly sign: Uint8Array
  /** SHA-256 of the sealing key's 1,216 bytes */
  readonly sealHash: Uint8Array
  /** Ed25519 */
  readonly auth: Uint8Array
}

/** Returns a sealing key's id in key logs and envelopes: base64url SHA-256 of its bytes. */
export const sealKeyId = (publicKey: Uint8Array): string => encodeBase64url(sha256(publicKey))

/** Converts public keys from the form of a key log to bytes. */
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
 * Returns the id of the account that has these keys in the first entry of its key log.
 *
 * The first entry also contains the salt (32 random bytes). The id is a hash of the keys and the
 * salt, so a server cannot present other first keys for the same id. Finding keys that match
 * another account's id takes 2^128 hashes. Finding two sets of one's own keys with the same id
 * takes 2^64.
 * @throws Refusal `bad_length`
 */
export function accountIdOf(first: DevicePublicKeys, salt: Uint8Array): string {
  requireLength(salt, 32, 'a salt')
  const hash = sha256(labelled('countersign/v2/account', publicKeyBytes(first), salt))
  return formatId(ID_PREFIX.account, hash.subarray(0, 16))
}
