/**
 * The rosters in this device's state database, with their key logs.
 *
 * Every entry was verified completely before it was stored. So reading skips the signatures but
 * checks every other rule. A state database from a backup was authenticated with the backup
 * (AES-256-GCM).
 */
import { lastPlace } from '../../crypto/logs/chain.ts'
import { readConsent } from '../../crypto/logs/consent.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import {
  type KeyLogs,
  lastConsentOf,
  readRosterEntry,
  type Roster,
  unsignedConsentOf,
  verifyRoster,
} from '../../crypto/logs/roster.ts'
import { Refusal } from '../../crypto/refusal.ts'
import type { State } from '../../state/state.ts'
import { readFacts } from '../identity/identity.ts'
import { rememberedKeyLogs, rememberedLog } from '../identity/key-log-cache.ts'
import { noteUnagreed, wasListed } from './refused-connections.ts'

/** A verified roster, and the newest stored key logs of all accounts that it names. */
export interface KnownRoster {
  readonly roster: Roster
  readonly keyLogs: KeyLogs
}

/** Returns the stored roster of a connection; null if there is none. */
export function rememberedRoster(state: State, connection: string): KnownRoster | null {
  const entries = state.logs.read('roster', connection)
  if (entries.length === 0) return null
  const keyLogs = rememberedKeyLogs(state, entries)
  return { roster: verifyRoster(connection, entries, keyLogs, lastPlace(entries)), keyLogs }
}

/**
 * Stores, as evidence of a fork, the valid entries of another history that are not in the stored
 * one.
 */
export function keepFork(
  { logs, forks }: State,
  connection: string,
  entries: readonly string[],
): void {
  const seen = new Set(logs.read('roster', connection))
  const other = entries
    .filter((entry) => !seen.has(entry))
    .map((entry) => ({ seq: readRosterEntry(entry).seq, entry }))
  forks.keep(connection, other)
}

/**
 * Stores a verified roster, and records whether this account must leave the connection.
 * @throws Refusal roster_forked if another history was stored meanwhile; the given one is then
 *   stored as evidence
 */
export function rememberRoster(state: State, roster: Roster): void {
  const { connection, entries } = roster
  const from = (state.logs.head('roster', connection)?.seq ?? -1) + 1
  if (!state.logs.isSameHistory('roster', connection, entries)) {
    keepFork(state, connection, entries)
    throw new Refusal('roster_forked', 'another history of the connection is stored')
  }
  state.transaction(() => {
    for (const [at, entry] of entries.slice(from).entries())
      state.logs.append({ kind: 'roster', subject: connection, seq: from + at, entry })
    const own = readFacts(state)?.account
    if (own !== undefined && entries.length > from)
      judgeConsent(state, roster, { own, from, log: () => rememberedLog(state, own) })
  })
}

/** Checks that no newer entry of this connection is stored. */
export const isNewest = ({ logs }: State, { connection, seq }: Roster): boolean =>
  (logs.head('roster', connection)?.seq ?? -1) <= seq

/**
 * Returns the revoked device that signed an account's consent to a connection (protocol, section
 * 4).
 *
 * A revoked device can sign a consent that names a key log position before the revocation, and no
 * verifier can distinguish it from a consent that was signed in time. So a device that already has
 * the revocation when it sees the account join must leave.
 * @param log the account's newest key log
 * @returns null if there is none, or if an active device has signed in the connection since
 */
export function revokedConsenter(roster: Roster, log: KeyLog): string | null {
  const active = new Set(log.active.map(({ id }) => id))
  const consent = unsignedConsentOf(roster, log.account, active)
  if (consent === null) return null
  const { device } = readConsent(consent)
  return active.has(device) ? null : device
}

/**
 * Records that this account must leave a connection, when a roster with new entries is stored.
 *
 * A device that has not listed the account's connections before cannot distinguish an old
 * membership from a new one. Such a device records nothing; the account's other devices decide.
 * @param from the seq of the first new entry
 * @param log returns the own account's newest key log
 */
function judgeConsent(
  state: Pick<State, 'meta'>,
  roster: Roster,
  { own, from, log }: { own: string; from: number; log: () => KeyLog | null },
): void {
  if (!wasListed(state) || lastConsentOf(roster, own, from) === null) return
  const known = log()
  if (known !== null && revokedConsenter(roster, known) !== null)
    noteUnagreed(state, roster.connection)
}
