/** What this device remembers of its account's name, beside the signing, which loads the curves. */
import type { State } from '../state/state.ts'

const KEY = 'own_name'
/** Code points of a name. */
const LONGEST = 64

/** The name to sign where no profile of the own account is in force; null for none. */
export const nameToSign = ({ meta }: Pick<State, 'meta'>): string | null =>
  meta.get(KEY) as string | null

/** Remembers the name of the own account, cut to the length that can be signed. */
export const rememberName = ({ meta }: Pick<State, 'meta'>, name: string): void =>
  meta.set(KEY, Array.from(name).slice(0, LONGEST).join(''))

/**
 * Whether the account server has the signed name that this device knows, or neither has one to sign.
 * Nothing is verified.
 * @param own the id of the own account
 * @param given the profile that the server has
 */
export function isNameSettled(state: State, own: string, given: string | undefined): boolean {
  const kept = state.profiles.get(own)
  if (kept !== null) return kept.jws === given
  return given === undefined && nameToSign(state) === null
}
