/**
 * Signed profiles (protocol, section 4a), which the account server sends with key logs and rosters.
 * A profile is accepted only if an active device of the account signed it and it is newer than the
 * stored one.
 */
import * as v from 'valibot'
import { SignedName } from '../../api/rest/names.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { type SignedProfile, replaceProfile } from '../../crypto/logs/profile.ts'
import { Refusal } from '../../crypto/refusal.ts'
import type { State } from '../../state/state.ts'
import { keyStatusOf } from '../../state/trust.ts'

/** Returns the result of `work`; null if it throws a Refusal. */
export function unlessRefused<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/**
 * Stores a profile from the account server if it is acceptable.
 * @param log the account's newest stored key log, verified
 * @param jws the profile; undefined if the server sent none
 */
export function keepProfile(state: State, log: KeyLog, jws: string | undefined): void {
  const { account } = log
  const stored = state.profiles.get(account)
  if (jws === undefined || jws === stored?.jws) return
  const profile = unlessRefused(() => replaceProfile(stored?.jws ?? null, jws, log))
  if (profile === null || !v.is(SignedName, profile.name)) return
  putProfile(state, profile, jws)
}

/** Stores a verified profile that is newer than the stored one. */
export function putProfile(state: State, profile: SignedProfile, jws: string): void {
  const { account, device, n, name } = profile
  state.transaction(() => {
    state.profiles.put({ account, device, n, name, hash: entryHash(jws), jws })
    const trust = state.trust.get(account)
    const isConfirmed = trust !== null && keyStatusOf(trust) === 'confirmed'
    // Keys can be confirmed before one of their devices has signed a name.
    if (isConfirmed && state.names.of(account).confirmed === undefined) state.names.confirm(account)
  })
}
