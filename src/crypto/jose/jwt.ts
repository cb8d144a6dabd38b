/**
 * JSON Web Tokens (RFC 7519) signed with Ed25519: what the two proofs of a session, dpop.ts and
 * client-assertion.ts, share. A token is read by one verifier and forgotten, and other people's
 * libraries make them too: claims that nobody here knows are ignored (RFC 7519 section 4), unlike
 * the members of a signed structure. Text and header are as strict as there.
 */
import { randomBytes } from '@noble/hashes/utils.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import { jwkForm, type PublicJwk } from './jwk.ts'
import { parseCompact, type Compact } from './jws.ts'
import { signCompact } from './jws-signature.ts'
import { text, type Kind } from '../logs/payload.ts'
import { quoted } from '../encoding/quoted.ts'
import { demand } from '../refusal.ts'

/** How far the clocks of two parties may be apart, in seconds. */
export const LEEWAY_S = 60

/** RFC 9864 section 2.2, and the older name of RFC 8037 section 3.1 that many libraries write. */
const ALGS: readonly unknown[] = ['Ed25519', 'EdDSA']

/**
 * Signs `claims` under `header`, to which `alg` is added, with an Ed25519 seed of 32 bytes. Out:
 * the JWT. Throws `bad_length` for another seed.
 */
export function signJwt(header: object, claims: object, seed: Uint8Array): string {
  // noble: WebCrypto is only 3.6 times as fast with the import (8,200 a second, noble 2,300).
  return signCompact({ alg: 'Ed25519', ...header }, claims, seed)
}

/**
 * Takes a JWT apart whose header holds `alg`, all of `required`, perhaps some of `optional`, and
 * nothing else; nothing is verified yet. Throws what `parseCompact` throws, `missing_header`,
 * `extra_header`, `wrong_alg`. A number that is no plain integer is `bad_value` in any claim.
 */
export function parseJwt(
  jwt: string,
  required: readonly string[],
  optional: readonly string[] = [],
): Compact {
  const parsed = parseCompact(jwt)
  const { header } = parsed
  const wanted = ['alg', ...required]
  for (const name of wanted) demand(header.has(name), 'missing_header', `no ${name} in the header`)
  for (const name of header.keys()) {
    // RFC 7515 section 4.1.11: nothing to understand, so nothing that `crit` or `b64` could change.
    const known = wanted.includes(name) || optional.includes(name)
    demand(known, 'extra_header', `the header may not hold ${quoted(name)}`)
  }
  demand(ALGS.includes(header.get('alg')), 'wrong_alg', 'alg is Ed25519')
  return parsed
}

/**
 * Verifies the signature under a key that is judged by form alone (see `jwkForm`). Rejects with
 * `bad_signature`, also under a key of small order (WebCrypto's Ed25519 refuses those),
 * and with what `jwkForm` throws.
 */
export async function verifyJwt(jwt: Compact, publicKey: PublicJwk): Promise<void> {
  const raw = jwkForm(publicKey)
  // WebCrypto: eight times as fast as noble, import included (8,200 a second, noble 1,000).
  const key = await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify'])
  const valid = await crypto.subtle.verify('Ed25519', key, jwt.signature, jwt.signingInput)
  demand(valid, 'bad_signature', 'the signature does not verify')
}

/** The value of a claim. Throws `missing_member` and what the kind throws. */
export function claim<T>(jwt: Compact, name: string, kind: Kind<T>): T {
  const value = jwt.payload.get(name)
  demand(value !== undefined, 'missing_member', `no claim ${name}`)
  return kind(value)
}

/** The value of a claim, null when there is none. Throws what the kind throws. */
export function optionalClaim<T>(jwt: Compact, name: string, kind: Kind<T>): T | null {
  return jwt.payload.has(name) ? claim(jwt, name, kind) : null
}

/** `jti`, which a verifier keeps to refuse a second use: 1 to 200 characters. */
export const jti: Kind<string> = (value) => {
  const { length } = text(value)
  demand(length >= 1 && length <= 200, 'bad_jti', 'jti has 1 to 200 characters')
  return value as string
}

/** A new `jti` of 128 random bits. */
export const newJti = () => encodeBase64url(randomBytes(16))

/** Unix seconds for a claim. Throws `bad_value` unless they are a whole number from 0 on. */
export function seconds(at: number): number {
  demand(Number.isSafeInteger(at) && at >= 0, 'bad_value', 'a time is whole Unix seconds')
  return at
}
