/**
 * Late consents (protocol, section 4). A revoked device can sign a consent at a place of the key log
 * before its revocation, and no verifier can tell it from one that came in time. A device that sees
 * the account taken in only when it knows the revocation leaves, unless a device that is active has
 * signed in the connection since.
 */
import { readConsent } from '../../crypto/logs/consent.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { type Roster, lastConsentOf, unsignedConsentOf } from '../../crypto/logs/roster.ts'
import type { State } from '../../state/state.ts'
import { noteUnagreed, wasListed } from './refused-connections.ts'

/**
 * The revoked device by whose consent an account is in a connection, where none that is active has
 * signed there since; else null.
 * @param log the newest key log of the account
 */
export function revokedConsenter(roster: Roster, log: KeyLog): string | null {
  const active = new Set(log.active.map(({ id }) => id))
  const consent = unsignedConsentOf(roster, log.account, active)
  if (consent === null) return null
  const { device } = readConsent(consent)
  return active.has(device) ? null : device
}

/**
 * Notes a connection to leave, when a roster with new entries is remembered. A device that has not
 * listed the connections of its account before cannot tell an old membership from a new one, and
 * leaves the judgement to the devices that were there.
 * @param from the number of the first new entry
 * @param log gives the newest key log of the own account
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
