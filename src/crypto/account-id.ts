/**
 * Account ids (section 3): the hash of an account's first keys and a salt. A server cannot
 * present other first keys under the id. Finding keys for the id of another account takes 2^128
 * hashes; finding two own sets of keys with one id takes 2^64.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { publicKeyBytes, type DevicePublicKeys } from './device-public-keys.ts'
import { requireLength, labelled } from './encoding/hash-input.ts'
import { formatId, ID_PREFIX } from './encoding/id.ts'

/**
 * Returns the id of the account that begins with these keys. They are the keys of entry 0 of its
 * key log; the salt is there too, 32 random bytes.
 * @throws Refusal `bad_length`
 */
export function accountIdOf(first: DevicePublicKeys, salt: Uint8Array): string {
  requireLength(salt, 32, 'a salt')
  const hash = sha256(labelled('countersign/v2/account', publicKeyBytes(first), salt))
  return formatId(ID_PREFIX.account, hash.subarray(0, 16))
}
