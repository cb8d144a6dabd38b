/**
 * JSON Web Tokens (RFC 7519) signed with Ed25519. The two proofs of a session, dpop.ts and
 * client-assertion.ts, use them. One verifier reads a token and discards it, and other libraries
 * create tokens too. So unknown claims are ignored (RFC 7519 section 4), unlike unknown members
 * of a signed structure. Text and header are as strict as there.
 */
import { randomBytes } from '@noble/hashes/utils.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import { jwkForm, type PublicJwk } from './jwk.ts'
import { parseCompact, type Compact } from './jws.ts'
import { signCompact } from './jws-signature.ts'
import { string, type MemberKind } from '../logs/payload.ts'
import { inMessage } from '../encoding/quoted.ts'
import { requireThat } from '../refusal.ts'

/** The largest difference between the clocks of two parties, in seconds. */
export const LEEWAY_S = 60

/** RFC 9864 section 2.2, and the older name of RFC 8037 section 3.1 that many libraries write. */
const ALGS: readonly unknown[] = ['Ed25519', 'EdDSA']

/**
 * Signs `claims` under `header`, to which `alg` is added, with an Ed25519 seed of 32 bytes.
 * Returns the JWT.
 * @throws Refusal `bad_length` for another seed
 */
export function signJwt(header: object, claims: object, seed: Uint8Array): string {
  // noble: WebCrypto is only 3.6 times as fast with the import (8,200 a second, noble 2,300).
  return signCompact({ alg: 'Ed25519', ...header }, claims, seed)
}

/**
 * Parses a JWT and checks its header; nothing is verified yet. The header must have `alg`, all of
 * `required`, perhaps some of `optional`, and no other member.
 * @throws Refusal as `parseCompact`; `missing_header`, `extra_header`, `wrong_alg`; `bad_value`
 *   for a number in any claim that is no plain integer
 */
export function parseJwt(
  jwt: string,
  required: readonly string[],
  optional: readonly string[] = [],
): Compact {
  const parsed = parseCompact(jwt)
  const { header } = parsed
  const wanted = ['alg', ...required]
  for (const name of wanted)
    requireThat(header.has(name), 'missing_header', `no ${name} in the header`)
  for (const name of header.keys()) {
    // RFC 7515 section 4.1.11: no extension is understood, so `crit` or `b64` cannot change
    // anything.
    const known = wanted.includes(name) || optional.includes(name)
    requireThat(known, 'extra_header', `the header must not contain ${inMessage(name)}`)
  }
  requireThat(ALGS.includes(header.get('alg')), 'wrong_alg', 'alg must be Ed25519')
  return parsed
}

/**
 * Verifies the signature under a key after checking its form only (see `jwkForm`).
 * @throws Refusal as `jwkForm`; `bad_signature`, also under a key of small order, which
 *   WebCrypto's Ed25519 rejects
 */
export async function verifyJwt(jwt: Compact, publicKey: PublicJwk): Promise<void> {
  const raw = jwkForm(publicKey)
  // WebCrypto: eight times as fast as noble, import included (8,200 a second, noble 1,000).
  const key = await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify'])
  const valid = await crypto.subtle.verify('Ed25519', key, jwt.signature, jwt.signingInput)
  requireThat(valid, 'bad_signature', 'the signature does not verify')
}

/**
 * Returns the value of a claim.
 * @throws Refusal `missing_member`, and as the kind
 */
export function claim<T>(jwt: Compact, name: string, kind: MemberKind<T>): T {
  const value = jwt.payload.get(name)
  requireThat(value !== undefined, 'missing_member', `no claim ${name}`)
  return kind(value)
}

/**
 * Returns the value of a claim; null if there is none.
 * @throws Refusal as the kind
 */
export function optionalClaim<T>(jwt: Compact, name: string, kind: MemberKind<T>): T | null {
  return jwt.payload.has(name) ? claim(jwt, name, kind) : null
}

/** `jti`, which a verifier stores to reject a second use: 1 to 200 characters. */
export const jti: MemberKind<string> = (value) => {
  const { length } = string(value)
  requireThat(length >= 1 && length <= 200, 'bad_jti', 'jti must have 1 to 200 characters')
  return value as string
}

/** Returns a new `jti` of 128 random bits. */
export const newJti = () => encodeBase64url(randomBytes(16))

/**
 * Checks Unix seconds for a claim and returns them.
 * @throws Refusal `bad_value` unless they are a whole number from 0 on
 */
export function numericDate(at: number): number {
  requireThat(
    Number.isSafeInteger(at) && at >= 0,
    'bad_value',
    'a time must be in whole Unix seconds',
  )
  return at
}
