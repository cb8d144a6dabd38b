/**
 * The roster of a connection (section 4): its members, and the current epoch.
 *
 * A roster is verified against the verified key logs of its members.
 */
import { encodeBase64url } from '../encoding/base64url.ts'
import { runToEnd, follow, type KnownPlace, requirePlaces } from './chain.ts'
import { entryHash } from '../jose/jws.ts'
import { requireThat } from '../refusal.ts'
import { readRosterEntry, type RosterEntry } from './roster-form.ts'
import { applyRosterEntry, type KeyLogs, type RosterState } from './roster-ops.ts'

export type Roster = Omit<RosterState, 'exits' | 'places'> & {
  connection: string
  /** The seq and the hash (32 bytes) of the last entry. */
  seq: number
  head: Uint8Array
  /** The entries as received. */
  entries: readonly string[]
}

/**
 * Verifies the whole roster of a connection.
 *
 * The validity of an entry depends only on the entries before it, and on the key logs up to the
 * places that it names. The rest of the key logs decides which places the epoch covers.
 * @param entries the JWSs in order
 * @param keyLogs the newest verified logs of all accounts that the entries name
 * (`accountsInRoster`)
 * @param known the newest place that was verified earlier. Signatures of the entries up to it, and
 * of the consents in them, are not verified again. Each entry names a place, with its hash, in
 * every key log that decides which key signed. These places are checked against `keyLogs` each
 * time.
 * @throws Refusal for the first broken rule: as `readRosterEntry` and `follow` (`roster_forked`,
 * `gap`, `rollback` …), `wrong_connection`, `bad_op`, `ended`, `leave_opens_epoch`, `epoch_skip`,
 * `actor_log_mismatch`, `unknown_signer`, `revoked_signer`, `kid_mismatch`, `bad_signature`,
 * `not_member`, `actor_log_back`, `generation_unconfirmed`, `not_owner`, `logs_not_member`,
 * `rotation_pending`, `already_member`, `too_many_members`, `member_log_mismatch`, `bad_consent`,
 * `consent_mismatch`, `consent_log`, `consent_stale`, `self_confirm`, `no_new_generation`,
 * `last_owner`
 */
export const verifyRoster = (
  connection: string,
  entries: readonly string[],
  keyLogs: KeyLogs,
  known?: KnownPlace,
): Roster => runToEnd(verifyingRoster(connection, entries, keyLogs, known))

/** Like `verifyRoster`, but yields after each entry, so that a caller can let other work run. */
export function* verifyingRoster(
  connection: string,
  entries: readonly string[],
  keyLogs: KeyLogs,
  known?: KnownPlace,
): Generator<void, Roster, void> {
  const read = (text: string): RosterEntry => {
    const entry = readRosterEntry(text)
    requireThat(
      entry.connection === connection,
      'wrong_connection',
      'the entry belongs to another connection',
    )
    return entry
  }
  // oxlint-disable-next-line require-yield -- one entry is a short step.
  function* apply(
    before: RosterState | undefined,
    entry: RosterEntry,
    hash: Uint8Array,
    proven: boolean,
  ) {
    return applyRosterEntry(before, entry, hash, { keyLogs, proven })
  }
  const rules = { read, apply, forked: 'roster_forked' } as const
  const { state, heads } = yield* follow<RosterEntry, RosterState>(entries, rules, known)
  const { exits: _exits, places: _places, ...roster } = state
  return { connection, seq: heads.length - 1, head: heads.at(-1)!, ...roster, entries }
}

/**
 * Returns the accounts that entries (JWSs) name, in the order of their first occurrence.
 *
 * The entries are not verified. `verifyRoster` needs the key logs of these accounts.
 * @throws Refusal as `requirePlaces`, `parseJws` and `payload`
 */
export function accountsInRoster(entries: readonly string[]): string[] {
  requirePlaces(entries)
  const named = entries.flatMap((text) => {
    const { actor, member } = readRosterEntry(text)
    return member === undefined ? [actor] : [actor, member]
  })
  return [...new Set(named)]
}

/**
 * Returns the consent in the last `add` of an account, at entry `from` or later.
 *
 * The roster must be verified. Null if there is no such `add`, for example for the account that
 * opened the connection.
 */
export function lastConsentOf({ entries }: Roster, account: string, from = 0): string | null {
  for (const text of entries.slice(from).toReversed()) {
    const { op, member, consent } = readRosterEntry(text)
    if (op === 'add' && member === account) return consent!
  }
  return null
}

/**
 * Returns the consent in a member's last `add`, unless one of `devices` has signed an entry since.
 *
 * The roster must be verified. Null if one of `devices` has signed since, if the account opened the
 * connection, or if it is not a member.
 */
export function unsignedConsentOf(
  { entries, members }: Roster,
  account: string,
  devices: ReadonlySet<string>,
): string | null {
  if (members.every((one) => one.account !== account)) return null
  for (const text of entries.toReversed()) {
    const { op, actor, device, member, consent } = readRosterEntry(text)
    if (op === 'add' && member === account) return consent!
    if (actor === account && devices.has(device)) return null
  }
  return null
}

/** Returns the seq of the entry that opened the current epoch. The roster must be verified. */
export const openingOf = ({ entries }: Roster): number =>
  entries.findLastIndex((jws) => readRosterEntry(jws).k_commit !== undefined)

/** Returns the account that opened the current epoch. The roster must be verified. */
export const openerOf = (roster: Roster): string =>
  readRosterEntry(roster.entries[openingOf(roster)]!).actor

const isExitOf = ({ op, actor, member: named }: RosterEntry, member: string): boolean =>
  (op === 'remove' && named === member) || (op === 'leave' && actor === member)

/**
 * Whether a consent may name `head` (base64url) as its `roster_head` in an account's next `add`.
 *
 * `head` must be the hash of one of `entries`. That entry must not be older than the account's last
 * exit, the entry in which it left or was removed. If `head` is among them, the last entries of a
 * verified roster are enough.
 */
export function isFreshHead(entries: readonly string[], account: string, head: string): boolean {
  for (const text of entries.toReversed()) {
    if (encodeBase64url(entryHash(text)) === head) return true
    if (isExitOf(readRosterEntry(text), account)) return false
  }
  return false
}

/**
 * Returns the ids of the devices that signed the exits of `member` after entry `seq`.
 *
 * An exit is an entry in which the member left or was removed. The roster must be verified.
 */
export function goneSince({ entries }: Roster, member: string, seq: number): string[] {
  return entries
    .slice(seq + 1)
    .map(readRosterEntry)
    .flatMap((entry) => (isExitOf(entry, member) ? [entry.device] : []))
}
