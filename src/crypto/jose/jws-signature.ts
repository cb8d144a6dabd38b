/** Signs and verifies JWS compact structures (RFC 7515) with Ed25519 (RFC 8032). */
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { ed25519, isSigningKey } from '../ed25519.ts'
import { encodeBase64url } from '../encoding/base64url.ts'
import type { ParsedJws, Typ } from './jws.ts'
import { memo } from '../encoding/memo.ts'
import { requireThat } from '../refusal.ts'

/**
 * Signs `payload` as JSON with an Ed25519 seed (32 bytes) and returns the JWS.
 * @param kid the thumbprint of the seed's public key
 * @throws Refusal `bad_length` for a seed of another length
 */
export function signJws(typ: Typ, kid: string, payload: object, seed: Uint8Array): string {
  return signCompact({ alg: 'Ed25519', typ, kid }, payload, seed)
}

/**
 * Signs any header and payload as JSON with an Ed25519 seed (32 bytes). Returns the JWS compact.
 * @throws Refusal `bad_length` for a seed of another length
 */
export function signCompact(header: object, payload: object, seed: Uint8Array): string {
  requireThat(seed.length === 32, 'bad_length', 'an Ed25519 seed must be 32 bytes')
  const part = (value: object) => encodeBase64url(utf8ToBytes(JSON.stringify(value)))
  const input = `${part(header)}.${part(payload)}`
  return `${input}.${encodeBase64url(ed25519.sign(utf8ToBytes(input), seed))}`
}

/** A cache: each read verifies a whole log, and most of its entries were verified before. */
const goodSignature = memo(8192)

/**
 * Verifies a signature under a raw Ed25519 public key (32 bytes), as `isSignature` does.
 * @throws Refusal `bad_signature`
 */
export function verifyJws(
  { signature, signingInput }: Pick<ParsedJws, 'signature' | 'signingInput'>,
  publicKey: Uint8Array,
): void {
  const good = isSignature(signature, signingInput, publicKey)
  requireThat(good, 'bad_signature', 'the signature does not verify')
}

/**
 * Whether `signature` is a signature of `message` under a raw Ed25519 public key (32 bytes).
 *
 * S must be below L, and the key and R must be canonical points of order L, so that every correct
 * verifier gives the same result. For a signature that was verified before, the check costs one
 * hash.
 */
export function isSignature(
  signature: Uint8Array,
  message: Uint8Array,
  publicKey: Uint8Array,
): boolean {
  const isGood = () => isSigningKey(publicKey) && ed25519.verify(signature, message, publicKey)
  // The two lengths are fixed, so the hashed bytes can be split into the three values in only one
  // way.
  const fit = signature.length === 64 && publicKey.length === 32
  const name = () => encodeBase64url(sha256(concatBytes(publicKey, signature, message)))
  return fit && goodSignature(name(), isGood)
}
