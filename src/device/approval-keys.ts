/** The public keys of a device as the exchange of an approval hashes them (section 4). */
import { sha256 } from '@noble/hashes/sha2.js'
import type { DeviceJwks } from '../crypto/device-keys.ts'
import type { DevicePublicKeys } from '../crypto/device-public-keys.ts'
import { jwkBytes } from '../crypto/jwk.ts'

/**
 * The bytes of a device's keys, 32 each; of the sealing key, its SHA-256.
 * @throws Refusal as `jwkBytes` does
 */
export const hashedKeys = ({ sign, seal, auth }: DeviceJwks): DevicePublicKeys => ({
  sign: jwkBytes(sign, 'Ed25519'),
  sealHash: sha256(jwkBytes(seal, 'X25519')),
  auth: jwkBytes(auth, 'Ed25519'),
})
