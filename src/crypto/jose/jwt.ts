/**
 * JSON Web Tokens (RFC 7519) signed with Ed25519, as dpop.ts and client-assertion.ts use them.
 *
 * A JWT is read by one verifier, which then discards it, and other libraries create JWTs too.
 * Unknown claims are therefore ignored (RFC 7519 section 4), while unknown members of a signed
 * structure are rejected. The text and the header are checked as strictly as in a signed structure.
 */
import { randomBytes } from '@noble/hashes/utils.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import { jwkForm, type PublicJwk } from './jwk.ts'
import { parseCompact, type Compact } from './jws.ts'
import { signCompact } from './jws-signature.ts'
import { string, type MemberKind } from '../logs/payload.ts'
import { inMessage } from '../encoding/quoted.ts'
import { requireThat } from '../refusal.ts'

/** The largest allowed difference between the clocks of two parties, in seconds. */
export const LEEWAY_S = 60

/** RFC 9864 section 2.2; the older name in RFC 8037 section 3.1, which many libraries write. */
const ALGS: readonly unknown[] = ['Ed25519', 'EdDSA']

/**
 * Signs `claims` with an Ed25519 seed (32 bytes), adds `alg` to `header`, and returns the JWT.
 * @throws Refusal `bad_length` for a seed of another length
 */
export function signJwt(header: object, claims: object, seed: Uint8Array): string {
  // noble is fast enough here. WebCrypto, including the key import, is only 3.6 times as fast: it
  // signs 8,200 tokens a second, and noble 2,300.
  return signCompact({ alg: 'Ed25519', ...header }, claims, seed)
}

/**
 * Parses a JWT and checks its header. Nothing is verified.
 *
 * The header must have `alg` and all of `required`. It may have members of `optional`, and no
 * others.
 * @throws Refusal as `parseCompact`; `missing_header`, `extra_header`, `wrong_alg`; `bad_value` if
 * any claim has a number that is not a plain integer
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
    // RFC 7515 section 4.1.11: no extension is supported. Rejecting other members ensures that
    // `crit` or `b64` cannot have an effect.
    const known = wanted.includes(name) || optional.includes(name)
    requireThat(known, 'extra_header', `the header must not contain ${inMessage(name)}`)
  }
  requireThat(ALGS.includes(header.get('alg')), 'wrong_alg', 'alg must be Ed25519')
  return parsed
}

/**
 * Verifies a JWT's signature under a key, of which only the form is checked (see `jwkForm`).
 * @throws Refusal as `jwkForm`; `bad_signature`, also for a key of small order, which WebCrypto's
 * Ed25519 rejects
 */
export async function verifyJwt(jwt: Compact, publicKey: PublicJwk): Promise<void> {
  const raw = jwkForm(publicKey)
  // WebCrypto, including the key import, is eight times as fast as noble: it verifies 8,200 tokens
  // a second, and noble 1,000.
  const key = await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify'])
  const valid = await crypto.subtle.verify('Ed25519', key, jwt.signature, jwt.signingInput)
  requireThat(valid, 'bad_signature', 'the signature does not verify')
}

/**
 * Returns the value of a claim.
 * @throws Refusal `missing_member`, and as `kind`
 */
export function claim<T>(jwt: Compact, name: string, kind: MemberKind<T>): T {
  const value = jwt.payload.get(name)
  requireThat(value !== undefined, 'missing_member', `no claim ${name}`)
  return kind(value)
}

/**
 * Returns the value of a claim; null if the claim is absent.
 * @throws Refusal as `kind`
 */
export function optionalClaim<T>(jwt: Compact, name: string, kind: MemberKind<T>): T | null {
  return jwt.payload.has(name) ? claim(jwt, name, kind) : null
}

/** Reads a `jti` of 1 to 200 characters. The verifier stores it to reject a second use. */
export const jti: MemberKind<string> = (value) => {
  const { length } = string(value)
  requireThat(length >= 1 && length <= 200, 'bad_jti', 'jti must have 1 to 200 characters')
  return value as string
}

/** Returns a new `jti` of 128 random bits. */
export const newJti = () => encodeBase64url(randomBytes(16))

/**
 * Checks that a claim's time in Unix seconds is a whole number, and returns it.
 * @throws Refusal `bad_value` unless it is a safe integer of at least 0
 */
export function numericDate(at: number): number {
  requireThat(
    Number.isSafeInteger(at) && at >= 0,
    'bad_value',
    'a time must be in whole Unix seconds',
  )
  return at
}
