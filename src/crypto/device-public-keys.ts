/** A device's public keys as protocol 2 hashes them: of the sealing key, its hash (section 1). */
import { concatBytes } from '@noble/hashes/utils.js'
import { requireLength } from './hash-input.ts'

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
 * `sign || SHA-256(seal) || auth`, 96 bytes.
 * @throws Refusal `bad_length`
 */
export function publicKeyBytes({ sign, sealHash, auth }: DevicePublicKeys): Uint8Array {
  requireLength(sign, 32, 'a signing key')
  requireLength(sealHash, 32, 'the hash of a sealing key')
  requireLength(auth, 32, 'an authentication key')
  return concatBytes(sign, sealHash, auth)
}
