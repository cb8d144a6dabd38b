/**
 * Late consents (protocol, section 4). A revoked device can sign a consent at a place of the key
 * log before its revocation, and no verifier can distinguish that from a consent signed in time.
 * A device that already has the revocation when it sees the account join therefore leaves. It
 * stays if an active device has signed in the connection since.
 */
import { readConsent } from '../../crypto/logs/consent.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { type Roster, lastConsentOf, unsignedConsentOf } from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'
import { noteUnagreed, wasListed } from './refused-connections.ts'

/**
 * Returns the revoked device that signed the consent of an account to a connection.
 * @param log the newest key log of the account
 * @returns null where an active device has signed in the connection since
 */
export function revokedConsenter(roster: Roster, log: KeyLog): string | null {
  const active = new Set(log.active.map(({ id }) => id))
  const consent = unsignedConsentOf(roster, log.account, active)
  if (consent === null) return null
  const { device } = readConsent(consent)
  return active.has(device) ? null : device
}

/**
 * Records a connection to leave, when a roster with new entries is stored. A device that has not
 * listed the connections of its account before cannot distinguish an old membership from a new
 * one. It leaves the judgement to the devices that were there.
 * @param from the number of the first new entry
 * @param log returns the newest key log of the own account
 */
export function judgeConsent(
  state: Pick<State, 'meta'>,
  roster: Roster,
  { own, from, log }: { own: string; from: number; log: () => KeyLog | null },
): void {
  if (!wasListed(state) || lastConsentOf(roster, own, from) === null) return
  const known = log()
  if (known !== null && revokedConsenter(roster, known) !== null)
    noteUnagreed(state, roster.connection)
}
