/**
 * DPoP proofs (RFC 9449 section 4).
 *
 * With each request to an account server, the sender proves that it has the authentication key that
 * its access token is bound to. This file does not check whether a nonce is fresh, whether a `jti`
 * was used before, or whether the token is bound to the thumbprint. The server must check these
 * itself.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { encodeBase64url } from '../encoding/base64url.ts'
import type { KeyPair } from '../device-keys.ts'
import { thumbprint, type PublicJwk } from './jwk.ts'
import type { Json } from '../encoding/json.ts'
import {
  claim,
  jti,
  LEEWAY_S,
  newJti,
  optionalClaim,
  parseJwt,
  numericDate,
  signJwt,
  verifyJwt,
} from './jwt.ts'
import { natural, record, string } from '../logs/payload.ts'
import { requireThat } from '../refusal.ts'

const TYP = 'dpop+jwt'
const readJwk = record({ kty: string, crv: string, x: string })
/** RFC 7518 section 6, RFC 8037 section 2: JWK members with a private or a symmetric key. */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

type DpopProof = {
  /** The RFC 7638 thumbprint of the sender's key: the `jkt` of its access token. */
  thumbprint: string
  jti: string
  /** In Unix seconds. */
  iat: number
  nonce: string | null
}

/**
 * Signs a proof for one request (RFC 9449 section 4.2) and returns the JWT.
 * @param request `url` may have a query and a fragment; `at`: Unix seconds; `accessToken`: the
 * token that is sent with the request; `nonce`: the server's latest nonce
 * @throws Refusal `bad_value` (a URL that is not http or https, a fractional second), `bad_length`
 * (a secret that is not 32 bytes)
 */
export async function signProof(
  request: { method: string; url: string; at: number; accessToken?: string; nonce?: string },
  key: KeyPair,
): Promise<string> {
  const { method, url, at, accessToken, nonce } = request
  requireThat(targetOf(url) !== null, 'bad_value', 'not an http or https URL')
  const claims = {
    jti: newJti(),
    htm: method,
    htu: url.replace(/[?#].*/s, ''),
    iat: numericDate(at),
    ...(accessToken === undefined ? {} : { ath: athOf(accessToken) }),
    ...(nonce === undefined ? {} : { nonce }),
  }
  return signJwt({ typ: TYP, jwk: key.jwk }, claims, key.secret)
}

/**
 * Verifies the value of a DPoP header field (RFC 9449 section 4.3).
 *
 * Returns the values that the caller must check. Only the form of the key is verified, so compare
 * `thumbprint` with the thumbprint of a key from a verified key log.
 * @param expected `method` and `url` of the request, with the server's configured address in `url`;
 * `accessToken`: the token that was received with the proof, or null; `now`: Unix seconds
 * @throws Refusal as `parseJwt` and `verifyJwt`; `wrong_typ`, `private_key`, `missing_member`,
 * `unknown_member`, `bad_value`, `bad_jti`, `wrong_htm`, `wrong_htu`, `wrong_iat`, `missing_ath`,
 * `superfluous_ath`, `ath_mismatch`
 */
export async function verifyProof(
  proof: string,
  expected: { method: string; url: string; accessToken: string | null; now: number },
): Promise<DpopProof> {
  // RFC 9449 section 4.3: this is check 2. Reading the claims below is check 3.
  const jwt = parseJwt(proof, ['typ', 'jwk'])
  requireThat(jwt.header.get('typ') === TYP, 'wrong_typ', `typ must be ${TYP}`) // check 4
  const jwk = publicHalf(jwt.header.get('jwk')!) // check 7
  await verifyJwt(jwt, jwk) // check 6; check 5, the algorithm, is in parseJwt

  const found: DpopProof = {
    thumbprint: thumbprint(jwk),
    jti: claim(jwt, 'jti', jti),
    iat: claim(jwt, 'iat', natural),
    nonce: optionalClaim(jwt, 'nonce', string), // check 10 is done by the caller
  }
  const { method, url, accessToken, now } = expected
  // Check 8.
  requireThat(claim(jwt, 'htm', string) === method, 'wrong_htm', 'the proof is for another method')
  const target = targetOf(claim(jwt, 'htu', string))
  // Check 9.
  requireThat(
    target !== null && target === targetOf(url),
    'wrong_htu',
    'the proof is for another URL',
  )
  const fresh = Math.abs(found.iat - now) <= LEEWAY_S
  requireThat(
    fresh,
    'wrong_iat',
    `iat differs by more than ${LEEWAY_S} s from the time of this server`,
  ) // check 11
  checkAth(optionalClaim(jwt, 'ath', string), accessToken) // check 12
  return found
}

/** Section 4.3 check 12: `ath` must match the request's token, and be absent without a token. */
function checkAth(ath: string | null, accessToken: string | null): void {
  if (accessToken === null) {
    return requireThat(
      ath === null,
      'superfluous_ath',
      'the proof has ath, but the request has no access token',
    )
  }
  requireThat(
    ath !== null,
    'missing_ath',
    'the request has an access token, but the proof has no ath',
  )
  requireThat(ath === athOf(accessToken), 'ath_mismatch', 'the proof is for another access token')
}

/** RFC 9449 section 4.2: base64url SHA-256 over the ASCII access token. */
const athOf = (accessToken: string) => encodeBase64url(sha256(utf8ToBytes(accessToken)))

function publicHalf(value: Json): PublicJwk {
  requireThat(value instanceof Map, 'bad_value', 'jwk must be an object')
  const secret = PRIVATE.find((name) => value.has(name))
  requireThat(secret === undefined, 'private_key', `jwk contains the private member ${secret}`)
  return readJwk(value) as PublicJwk
}

/**
 * The characters of RFC 3986, without user information.
 *
 * `URL` also accepts other characters (`\`, white space) and silently corrects them.
 */
const WEB_URI = /^https?:\/\/[\w\-.~:[\]!$&'()*+,;=%]+(?:[/?#][\w\-.~:/?#[\]@!$&'()*+,;=%]*)?$/i
const UNRESERVED = /[\w\-.~]/

/**
 * Returns a URL without query and fragment in normalised form; null if it is not http or https.
 *
 * Scheme and host are in lower case. The default port, dot segments and unnecessary escapes are
 * removed. An empty path becomes `/`.
 * @see RFC 3986 sections 6.2.2 and 6.2.3
 */
function targetOf(text: string): string | null {
  const url = WEB_URI.test(text) ? URL.parse(text) : null
  if (url === null) return null
  const path = url.pathname.replace(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(parseInt(escape.slice(1), 16))
    return UNRESERVED.test(character) ? character : escape.toUpperCase()
  })
  return `${url.protocol}//${url.host}${path}`
}
