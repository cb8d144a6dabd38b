/** Keys of devices, made at once, and values derived from them. */
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto'
import { x25519 } from '@noble/curves/ed25519.js'
import { shake256 } from '@noble/hashes/sha3.js'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { signingKeyFrom, type DeviceKeyPairs } from '../../src/crypto/device-keys.ts'
import { addFirst, newSalt } from '../../src/crypto/logs/key-log-entries.ts'
import type { SealKeyPair } from '../../src/crypto/seal-key.ts'

const random = () => new Uint8Array(randomBytes(32))

/** Makes the same as `newDeviceKeys` of the program, synchronously. */
export const newDeviceKeys = (): DeviceKeyPairs => ({
  sign: signingKeyFrom(random()),
  seal: newSealKey(),
  auth: signingKeyFrom(random()),
})

/** Makes the same as `newSealKey` of the program, synchronously. */
export function newSealKey(): SealKeyPair {
  const secret = random()
  const publicKey = publicOf(secret)
  made.set(sealKeyId(publicKey), publicKey)
  return { secret, publicKey }
}

const made = new Map<string, Uint8Array>()

/** Returns the bytes of a sealing key that was made here, by the id that key logs have. */
export const sealKeyNamed = (id: string): Uint8Array => made.get(id)!

/**
 * Returns the public key of an X-Wing decapsulation key, by node:crypto and noble.
 * ML-KEM is from node:crypto, X25519 from noble.
 */
export function publicOf(secret: Uint8Array): Uint8Array {
  const seeds = shake256(secret, { dkLen: 96 })
  // RFC 9935: an ML-KEM-768 private key in PKCS #8, as its seed.
  const prefix = Buffer.from('3054020100300b060960864801650304040204428040', 'hex')
  const der = Buffer.concat([prefix, seeds.subarray(0, 64)])
  const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
  const spki = key.export({ format: 'der', type: 'spki' })
  const [mlKem, classic] = [spki.subarray(-1184), x25519.getPublicKey(seeds.subarray(64))]
  return new Uint8Array(Buffer.concat([mlKem, classic]))
}

/** Returns an account that begins with a device: its id, and the first entry of its key log. */
export const firstOf = (
  device: string,
  keys: DeviceKeyPairs,
  at = 1767225600,
): { account: string; entry: string } => addFirst({ salt: newSalt(), device, keys, at })
