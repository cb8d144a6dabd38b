/**
 * Public keys as JWKs (RFC 8037) with exactly `kty`, `crv` and `x`; their thumbprints (RFC 7638).
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { isSigningKey } from '../ed25519.ts'
import { decodeBase64url, encodeBase64url } from '../encoding/base64url.ts'
import { requireThat } from '../refusal.ts'

/** An Ed25519 key. */
export type PublicJwk = { kty: 'OKP'; crv: 'Ed25519'; x: string }

/**
 * Returns the public key (32 bytes) of a JWK.
 * @throws Refusal `missing_member`, `unknown_member` (also for a private key), `bad_key` (another
 * curve, or an Ed25519 key that is not a canonical point of the prime-order subgroup),
 * `respelt_base64`, `bad_value` (another length)
 */
export function jwkBytes(jwk: PublicJwk): Uint8Array {
  const bytes = jwkForm(jwk)
  requireThat(isSigningKey(bytes), 'bad_key', 'not a point of the prime-order group')
  return bytes
}

/**
 * Returns the public key (32 bytes) of a JWK after checking only its form, not its order.
 *
 * Use this for a key that is then compared with a key that `jwkBytes` accepted.
 * @throws Refusal as `jwkBytes`
 */
export function jwkForm(jwk: PublicJwk): Uint8Array {
  for (const name of ['kty', 'crv', 'x']) {
    requireThat(Object.hasOwn(jwk, name), 'missing_member', `a JWK must have the member ${name}`)
  }
  requireThat(
    Object.keys(jwk).length === 3,
    'unknown_member',
    'this JWK must have exactly the members kty, crv and x',
  )
  requireThat(jwk.kty === 'OKP' && jwk.crv === 'Ed25519', 'bad_key', 'not an Ed25519 key')
  requireThat(typeof jwk.x === 'string', 'bad_value', 'x must be base64url')
  const bytes = decodeBase64url(jwk.x)
  requireThat(bytes.length === 32, 'bad_value', 'x must be 32 bytes')
  return bytes
}

/**
 * Returns the thumbprint of a key (RFC 7638).
 *
 * It is base64url SHA-256 over the required members in lexical order, without white space.
 */
export function thumbprint(jwk: PublicJwk): string {
  const { crv, kty, x } = jwk
  return encodeBase64url(sha256(utf8ToBytes(JSON.stringify({ crv, kty, x }))))
}
