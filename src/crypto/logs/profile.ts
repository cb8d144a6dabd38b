/**
 * Signed profiles (section 4a): the name that an account gives itself.
 *
 * Only the account vouches for the name, but no server can change it.
 */
import { ID_PREFIX } from '../encoding/id.ts'
import { entryHash, parseJws } from '../jose/jws.ts'
import { signJws } from '../jose/jws-signature.ts'
import { signerAt, verifySignedBy } from './key-log-ops.ts'
import type { KeyLog } from './key-log.ts'
import { accountId, idWithPrefix, natural, payload, string, type MemberKind } from './payload.ts'
import { requireThat, Refusal } from '../refusal.ts'

/** The maximum length of a name in code points. */
const LONGEST_NAME = 64

const name: MemberKind<string> = (value) => {
  const length = Array.from(string(value)).length
  const fits = length >= 1 && length <= LONGEST_NAME
  requireThat(fits, 'bad_value', `a name must have 1 to ${LONGEST_NAME} characters, not ${length}`)
  return value as string
}

const readPayload = payload({
  account: accountId,
  device: idWithPrefix(ID_PREFIX.device),
  n: natural,
  name,
})

export type SignedProfile = ReturnType<typeof readPayload>

/**
 * Signs a profile. Returns the JWS.
 * @param of `n`: must be higher than in every earlier profile of the account; `name`: 1 to 64 code
 * points; `kid` and `seed` (32 bytes): the device's signing key
 * @throws Refusal `bad_value`, `bad_length`
 */
export function signProfile({
  kid,
  seed,
  ...of
}: Omit<SignedProfile, 'v'> & { kid: string; seed: Uint8Array }): string {
  const jws = signJws('profile+jws', kid, { v: 2, ...of } satisfies SignedProfile, seed)
  readPayload(parseJws(jws, 'profile+jws').payload)
  return jws
}

/**
 * Reads a profile without verifying it.
 * @throws Refusal as `parseJws` and `payload`
 */
export const readProfile = (jws: string): SignedProfile =>
  readPayload(parseJws(jws, 'profile+jws').payload)

/**
 * Verifies a profile with the newest known key log of its account.
 * @throws Refusal as `parseJws` and `payload`; `wrong_account`, `unknown_signer`, `revoked_signer`,
 * `kid_mismatch`, `bad_signature`
 */
export function verifyProfile(jws: string, log: KeyLog): SignedProfile {
  const parsed = parseJws(jws, 'profile+jws')
  const profile = readPayload(parsed.payload)
  requireThat(
    profile.account === log.account,
    'wrong_account',
    'the profile belongs to another account',
  )
  verifySignedBy(signerAt(log, profile.device, log.seq), parsed)
  return profile
}

/**
 * Verifies a profile that replaces another one.
 *
 * If the device that signed the stored profile is no longer active, the stored profile and its `n`
 * are ignored.
 * @param current the current profile, a JWS that `verifyProfile` accepted earlier
 * @throws Refusal as `verifyProfile`; `not_newer` unless `n` is higher or, if `n` is equal, the
 * SHA-256 of the JWS is lower
 */
export function replaceProfile(current: string | null, jws: string, log: KeyLog): SignedProfile {
  const profile = verifyProfile(jws, log)
  const before = current === null ? null : stillValid(current, log)
  const isNewer =
    current === null ||
    before === null ||
    profile.n > before.n ||
    (profile.n === before.n && isBelow(entryHash(jws), entryHash(current)))
  requireThat(isNewer, 'not_newer', `a profile with the number ${before?.n} already exists`)
  return profile
}

function stillValid(jws: string, log: KeyLog): SignedProfile | null {
  try {
    return verifyProfile(jws, log)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return null
  }
}

function isBelow(one: Uint8Array, other: Uint8Array): boolean {
  const differing = one.findIndex((byte, at) => byte !== other[at])
  return differing !== -1 && one[differing]! < other[differing]!
}
