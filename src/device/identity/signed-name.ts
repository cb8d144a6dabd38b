/** The stored name of the own account. It is apart from the signing, which loads the curves. */
import type { State } from '../../state/state.ts'

const KEY = 'own_name'
const FORMER = 'former_name'
/** Code points of a name. */
const LONGEST = 64

/** Returns the name to sign where no profile of the own account is in force; null for none. */
export const nameToSign = ({ meta }: Pick<State, 'meta'>): string | null =>
  meta.get(KEY) as string | null

/** Stores the name of the own account, cut to the length that can be signed. */
export function rememberName({ meta }: Pick<State, 'meta'>, name: string): void {
  meta.set(KEY, Array.from(name).slice(0, LONGEST).join(''))
  meta.delete(FORMER)
}

/** A name that was signed by a device since revoked, and the profile (JWS) that contains it. */
interface FormerName {
  readonly name: string
  readonly jws: string
}

/**
 * Returns the previous name that the account server shows; null for none. One is stored while no
 * name of the account is in force and this device has none to sign. The server, or a thief with a
 * revoked device, can choose it among all names that devices of the account ever signed.
 */
export const formerName = ({ meta }: Pick<State, 'meta'>): FormerName | null =>
  meta.get(FORMER) as FormerName | null

/** Stores a previous name to show to the user. This device never signs it. */
export const noteFormerName = ({ meta }: Pick<State, 'meta'>, former: FormerName): void =>
  meta.set(FORMER, former)

/**
 * Checks whether the account server has the signed name that this device has. Also true where
 * this device has no name to sign, and the server has none or one that the user was shown.
 * Verifies nothing.
 * @param own the id of the own account
 * @param given the profile from the server
 */
export function isNameSettled(state: State, own: string, given: string | undefined): boolean {
  const kept = state.profiles.get(own)
  if (kept !== null) return kept.jws === given
  return nameToSign(state) === null && (given === undefined || given === formerName(state)?.jws)
}
