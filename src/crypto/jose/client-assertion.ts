/**
 * Client assertions (RFC 7523 sections 2.2 and 3): a machine account signs in with its own key.
 *
 * The method is `private_key_jwt`. An assertion is short-lived and can be used once: the server
 * stores each `jti` for as long as the assertion could be sent again.
 */
import type { KeyPair } from '../device-keys.ts'
import { ID_PREFIX } from '../encoding/id.ts'
import { thumbprint, type PublicJwk } from './jwk.ts'
import type { Json } from '../encoding/json.ts'
import type { Compact } from './jws.ts'
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
import { idWithPrefix, natural, string, type MemberKind } from '../logs/payload.ts'
import { requireThat } from '../refusal.ts'

/**
 * The maximum time from now to `exp` by the signer's clock, in seconds.
 *
 * It limits how long a server must store a `jti`.
 */
const LONGEST_S = 300

const machine = idWithPrefix(ID_PREFIX.machine)

/** The client that an assertion claims to come from, before verification. */
type ClaimedClient = {
  /** The id that the machine is registered under. */
  machine: string
  /**
   * The signing key's RFC 7638 thumbprint; null if absent, because RFC 7523 does not require it.
   */
  kid: string | null
}

/**
 * Signs an assertion that `machine` uses to sign in at `audience`, and returns the JWT.
 * @param of `audience`: the server's issuer or token endpoint; `at`: Unix seconds; `lifetimeS`: 1
 * to 300 seconds (default: 60)
 * @throws Refusal `bad_value` (an id, a time or a lifetime), `bad_length` (a secret that is not 32
 * bytes)
 */
export async function signAssertion(
  of: { machine: string; audience: string; at: number; lifetimeS?: number },
  key: KeyPair,
): Promise<string> {
  const { audience, at, lifetimeS = 60 } = of
  const fits = numericDate(lifetimeS) >= 1 && lifetimeS <= LONGEST_S
  requireThat(fits, 'bad_value', `an assertion must be valid for 1 to ${LONGEST_S} seconds`)
  const iss = machine(of.machine)
  const exp = numericDate(at) + lifetimeS
  const claims = { iss, sub: iss, aud: audience, iat: at, exp, jti: newJti() }
  return signJwt({ typ: 'JWT', kid: thumbprint(key.jwk) }, claims, key.secret)
}

/**
 * Reads the client of an assertion, so that its key can be looked up. Nothing is verified.
 * @throws Refusal as `parseJwt`; `wrong_typ`, `missing_member`, `bad_value`, `sub_mismatch`
 */
export function readAssertion(assertion: string): ClaimedClient {
  return clientOf(parse(assertion))
}

/**
 * Verifies an assertion under the key that is registered for its machine.
 * @param expected `audiences`: the accepted names of the server; `now`: Unix seconds
 * @returns the machine, and the `jti`, which must not be accepted again until 60 s (the leeway)
 * after `exp` (Unix seconds)
 * @throws Refusal as `readAssertion` and `verifyJwt`; `kid_mismatch`, `wrong_audience`, `expired`,
 * `expires_too_late`, `not_yet_valid`, `bad_jti`
 */
export async function verifyAssertion(
  assertion: string,
  expected: { publicKey: PublicJwk; audiences: readonly string[]; now: number },
): Promise<{ machine: string; jti: string; exp: number }> {
  const { publicKey, audiences, now } = expected
  const jwt = parse(assertion)
  const client = clientOf(jwt)
  const own = client.kid === null || client.kid === thumbprint(publicKey)
  requireThat(own, 'kid_mismatch', 'kid does not name the key of the machine')
  await verifyJwt(jwt, publicKey) // RFC 7523 section 3, item 9

  const here = claim(jwt, 'aud', texts).some((name) => audiences.includes(name)) // item 3
  requireThat(here, 'wrong_audience', 'the assertion is for another server')
  const exp = claim(jwt, 'exp', natural) // item 4
  requireThat(now < exp + LEEWAY_S, 'expired', 'the assertion has expired')
  // `exp` is by the signer's clock, which may be ahead by the leeway that `iat` allows.
  const latest = now + LONGEST_S + LEEWAY_S
  requireThat(exp <= latest, 'expires_too_late', `exp is more than ${LONGEST_S} s in the future`)
  for (const name of ['nbf', 'iat']) {
    const begins = optionalClaim(jwt, name, natural) ?? 0 // items 5 and 6
    requireThat(begins <= now + LEEWAY_S, 'not_yet_valid', `${name} is in the future`)
  }
  return { machine: client.machine, jti: claim(jwt, 'jti', jti), exp } // item 7
}

function parse(assertion: string): Compact {
  const jwt = parseJwt(assertion, [], ['typ', 'kid'])
  // RFC 7519 section 5.1: `typ` is optional, but another kind of token must not pass as an
  // assertion.
  const { header } = jwt
  const fits = !header.has('typ') || string(header.get('typ')!).toUpperCase() === 'JWT'
  requireThat(fits, 'wrong_typ', 'typ must be JWT')
  return jwt
}

function clientOf(jwt: Compact): ClaimedClient {
  const kid = jwt.header.has('kid') ? string(jwt.header.get('kid')!) : null
  const sub = claim(jwt, 'sub', machine) // RFC 7523 section 3, item 2B
  // Item 1.
  requireThat(
    claim(jwt, 'iss', string) === sub,
    'sub_mismatch',
    'iss and sub must be the id of the machine account',
  )
  return { machine: sub, kid }
}

/** RFC 7519 section 4.1.3: `aud` is one name or a list of names. */
const texts: MemberKind<string[]> = (value: Json) =>
  (Array.isArray(value) ? value : [value]).map(string)
