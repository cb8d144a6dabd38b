/**
 * The stored name of the own account. This module does not sign, so it does not load the elliptic
 * curve code.
 */
import type { State } from '../../state/state.ts'

const KEY = 'own_name'
const FORMER = 'former_name'
/** The maximum length of a name, in code points. */
const LONGEST = 64

/** Returns the name to sign if the own account has no current profile; null if there is none. */
export const nameToSign = ({ meta }: Pick<State, 'meta'>): string | null =>
  meta.get(KEY) as string | null

/** Stores the own account's name, cut to the length that can be signed. */
export function rememberName({ meta }: Pick<State, 'meta'>, name: string): void {
  meta.set(KEY, Array.from(name).slice(0, LONGEST).join(''))
  meta.delete(FORMER)
}

/** A name that a now revoked device signed, and the profile (JWS) that contains the name. */
interface FormerName {
  readonly name: string
  readonly jws: string
}

/**
 * Returns the former name that the account server shows; null if there is none.
 *
 * It is stored while the account has no current name and this device has no name to sign. The
 * server, or a thief with a revoked device, can choose this name among all names that the account's
 * devices ever signed.
 */
export const formerName = ({ meta }: Pick<State, 'meta'>): FormerName | null =>
  meta.get(FORMER) as FormerName | null

/** Stores a former name to show to the user. This device never signs it. */
export const noteFormerName = ({ meta }: Pick<State, 'meta'>, former: FormerName): void =>
  meta.set(FORMER, former)

/**
 * Checks whether the account server has the same signed name as this device.
 *
 * Also true if this device has no name to sign, and the server has none or one that the user was
 * already shown. Verifies nothing.
 * @param own the own account id
 * @param given the profile from the server; undefined if it has none
 */
export function isNameSettled(state: State, own: string, given: string | undefined): boolean {
  const stored = state.profiles.get(own)
  if (stored !== null) return stored.jws === given
  return nameToSign(state) === null && (given === undefined || given === formerName(state)?.jws)
}
