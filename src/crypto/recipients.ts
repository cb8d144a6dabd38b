/**
 * Evaluates a roster together with the newest key logs of its members (sections 3 and 4).
 *
 * Finds the devices to which K may be sealed, and the roster entries that have to be made.
 */
import { isLinked } from './logs/generations.ts'
import type { LoggedDevice } from './logs/key-log-ops.ts'
import { type KeyLog, generationRoot } from './logs/key-log.ts'
import type { Roster } from './logs/roster-log.ts'
import type { KeyLogs, RosterMember } from './logs/roster-ops.ts'

/** Whether the newest generation of a member's key log may sign for this member. */
function isSeated({ account, generation }: RosterMember, keyLogs: KeyLogs): boolean {
  const log = keyLogs.get(account)
  return log === undefined || isLinked(log, generation, log.generation)
}

/**
 * Returns the devices to which the current epoch's K may be sealed.
 *
 * These are the active devices in the newest known key logs of the current members. They are sorted
 * by when the member joined, then by when the device was added. A member is omitted in two cases:
 * - New keys replaced all of the member's devices, and no owner has confirmed the new keys.
 * - The entry that opened the epoch has a row about the member's log that contradicts the log known
 *   here. A device that looks active in this log may be revoked in the other one.
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
 * Returns the members for which new keys, unconfirmed by an owner, replaced all devices.
 *
 * Their state is `changed_unverified`. A `confirm` entry makes the new keys valid for the member.
 * The members are sorted by when they joined.
 */
export const unconfirmedMembers = ({ members }: Roster, keyLogs: KeyLogs): string[] =>
  members.filter((member) => !isSeated(member, keyLogs)).map(({ account }) => account)

/** Returns the seq of the last `revoke` or `reset` in a key log; -1 if there is none. */
function lastRevocation(log: KeyLog): number {
  const { devices, generation } = log
  const revoked = [...devices.values()].map(({ revokedAt }) => revokedAt ?? -1)
  const reset = generation > 1 ? generationRoot(log, generation).seq : -1
  return Math.max(reset, ...revoked)
}

/**
 * A member who causes the suspension of a connection.
 *
 * `revocation` is the seq, in the member's key log, of the revocation that the epoch does not
 * cover.
 */
type SecretHolder = { readonly account: string; readonly revocation: number }

/**
 * Returns the members with a revoked device that may still have K.
 *
 * The member's newest key log has a `revoke` or `reset` after the entry that the epoch covers. A
 * device that revoked itself counts too, because a thief can sign out a stolen device and keep K.
 * Members who left since the epoch began also count.
 */
export const holdersOf = ({ members, leavers }: Roster, keyLogs: KeyLogs): SecretHolder[] =>
  [...members, ...leavers].flatMap(({ account, coveredSeq }) => {
    const log = keyLogs.get(account)
    const revocation = log === undefined ? -1 : lastRevocation(log)
    return revocation > coveredSeq ? [{ account, revocation }] : []
  })

/** Returns the account ids of `holdersOf`. */
export const heldMembers = (roster: Roster, keyLogs: KeyLogs): string[] =>
  holdersOf(roster, keyLogs).map(({ account }) => account)

/** Whether the connection is suspended. Its words must not verify until a new epoch opens. */
export const isHeld = (roster: Roster, keyLogs: KeyLogs): boolean =>
  roster.rotationPending || heldMembers(roster, keyLogs).length > 0

/**
 * Returns when a member's devices must rotate the secret.
 *
 * - `now`: a member left, or a device of this member was revoked.
 * - `later`: only other members suspend the connection. Their devices rotate first.
 * - null: no rotation is needed, or this member's devices may not sign.
 */
export function rotationDue(
  roster: Roster,
  keyLogs: KeyLogs,
  account: string,
): 'now' | 'later' | null {
  const own = roster.members.find((one) => one.account === account)
  if (own === undefined || !isSeated(own, keyLogs)) return null
  const suspending = heldMembers(roster, keyLogs)
  if (roster.rotationPending || suspending.includes(account)) return 'now'
  return suspending.length > 0 ? 'later' : null
}

/**
 * Returns the places in members' key logs that an entry must name for its epoch to cover them.
 *
 * A member is included if its log has a revocation after the last place that a roster entry named.
 * The returned place is the newest entry of that log. Sorted by account.
 * @param except accounts that the entry covers or removes through its other fields
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
