/**
 * Evaluates a roster together with the newest key logs of its members (sections 3 and 4). It
 * finds the devices to which K may be sealed, and the entries that are due.
 */
import { isLinked } from './logs/generations.ts'
import type { LoggedDevice } from './logs/key-log-ops.ts'
import { type KeyLog, generationRoot } from './logs/key-log.ts'
import type { Roster } from './logs/roster-log.ts'
import type { KeyLogs, RosterMember } from './logs/roster-ops.ts'

/** Whether the newest generation of a member's log may sign for its seat. */
function isSeated({ account, generation }: RosterMember, keyLogs: KeyLogs): boolean {
  const log = keyLogs.get(account)
  return log === undefined || isLinked(log, generation, log.generation)
}

/**
 * Returns the devices to which K of the current epoch may be sealed. They are active in the
 * newest known logs of current members. A member is omitted if keys that no owner confirmed
 * replaced all its devices, or if the entry that opened the epoch has a row for it that does not
 * fit the log known here, since a device that looks active may be revoked there. In order of
 * joining, then of addition.
 */
export function recipientsOf(
  { members, unfit }: Roster,
  keyLogs: KeyLogs,
): { account: string; device: LoggedDevice }[] {
  return members
    .filter((member) => isSeated(member, keyLogs) && !unfit.includes(member.account))
    .flatMap(({ account }) =>
      (keyLogs.get(account)?.active ?? []).map((device) => ({ account, device })),
    )
}

/**
 * Returns the members with all devices replaced by keys that are not linked to their seat. Their
 * state is `changed_unverified`; a `confirm` assigns the seat to the new keys. In order of
 * joining.
 */
export const unconfirmedMembers = ({ members }: Roster, keyLogs: KeyLogs): string[] =>
  members.filter((member) => !isSeated(member, keyLogs)).map(({ account }) => account)

/** Returns the seq of the last `revoke` or `reset` of a key log; -1 for none. */
function lastRevocation(log: KeyLog): number {
  const { devices, generation } = log
  const revoked = [...devices.values()].map(({ revokedAt }) => revokedAt ?? -1)
  const reset = generation > 1 ? generationRoot(log, generation).seq : -1
  return Math.max(reset, ...revoked)
}

/**
 * A member who suspends a connection, and the revocation that the epoch does not cover, by its
 * seq.
 */
type SecretHolder = { readonly account: string; readonly revocation: number }

/**
 * Returns the members with a revoked device that may hold K. Their newest log has a `revoke` or
 * `reset` after the place that the epoch covers. A device that revoked itself counts, since a
 * thief can sign out a stolen device and keep K. Members who left since the epoch began count
 * too.
 */
export const holdersOf = ({ members, leavers }: Roster, keyLogs: KeyLogs): SecretHolder[] =>
  [...members, ...leavers].flatMap(({ account, coveredSeq }) => {
    const log = keyLogs.get(account)
    const revocation = log === undefined ? -1 : lastRevocation(log)
    return revocation > coveredSeq ? [{ account, revocation }] : []
  })

/** Returns the accounts of `holdersOf`. */
export const heldMembers = (roster: Roster, keyLogs: KeyLogs): string[] =>
  holdersOf(roster, keyLogs).map(({ account }) => account)

/** Whether the connection is suspended: no words of it may verify until another epoch opens. */
export const isHeld = (roster: Roster, keyLogs: KeyLogs): boolean =>
  roster.rotationPending || heldMembers(roster, keyLogs).length > 0

/**
 * Returns when devices of a member have to rotate; null if they need not, or may not sign. `now`:
 * a member left, or devices of the member's own account were revoked. `later`: only another
 * member suspends the connection, so that the devices of that member rotate first.
 */
export function rotationDue(
  roster: Roster,
  keyLogs: KeyLogs,
  account: string,
): 'now' | 'later' | null {
  const own = roster.members.find((one) => one.account === account)
  if (own === undefined || !isSeated(own, keyLogs)) return null
  const held = heldMembers(roster, keyLogs)
  if (roster.rotationPending || held.includes(account)) return 'now'
  return held.length > 0 ? 'later' : null
}

/**
 * Returns the places of members' logs that an entry names so that its epoch covers them. They are
 * the newest of each log with a revocation after the last place that an entry named. Sorted by
 * account.
 * @param except accounts that the entry covers or removes by its other members
 */
export function coveringPlaces(
  { members }: Roster,
  keyLogs: KeyLogs,
  except: readonly (string | undefined)[],
): { account: string; seq: number; head: Uint8Array }[] {
  return members
    .flatMap(({ account, logSeq }) => {
      const log = keyLogs.get(account)
      if (log === undefined || except.includes(account) || lastRevocation(log) <= logSeq) return []
      return [{ account, seq: log.seq, head: log.head }]
    })
    .toSorted((a, b) => (a.account < b.account ? -1 : 1))
}
