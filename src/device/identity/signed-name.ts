/** What this device remembers of its account's name, beside the signing, which loads the curves. */
import type { State } from '../../state/state.ts'

const KEY = 'own_name'
const FORMER = 'former_name'
/** Code points of a name. */
const LONGEST = 64

/** The name to sign where no profile of the own account is in force; null for none. */
export const nameToSign = ({ meta }: Pick<State, 'meta'>): string | null =>
  meta.get(KEY) as string | null

/** Remembers the name of the own account, cut to the length that can be signed. */
export function rememberName({ meta }: Pick<State, 'meta'>, name: string): void {
  meta.set(KEY, Array.from(name).slice(0, LONGEST).join(''))
  meta.delete(FORMER)
}

/** A name that a device signed which is revoked, and the profile (JWS) that says so. */
interface FormerName {
  readonly name: string
  readonly jws: string
}

/**
 * The former name that the account server shows, while no name of the account is in force and this
 * device has none to sign; else null. The server, or a thief whose device was revoked, can choose it
 * among all names that devices of the account ever signed.
 */
export const formerName = ({ meta }: Pick<State, 'meta'>): FormerName | null =>
  meta.get(FORMER) as FormerName | null

/** Notes a former name for the person to see. It is never signed from here. */
export const noteFormerName = ({ meta }: Pick<State, 'meta'>, former: FormerName): void =>
  meta.set(FORMER, former)

/**
 * Whether the account server has the signed name that this device knows, or neither has one to sign
 * but a former name that the person was shown. Nothing is verified.
 * @param own the id of the own account
 * @param given the profile that the server has
 */
export function isNameSettled(state: State, own: string, given: string | undefined): boolean {
  const kept = state.profiles.get(own)
  if (kept !== null) return kept.jws === given
  return nameToSign(state) === null && (given === undefined || given === formerName(state)?.jws)
}
