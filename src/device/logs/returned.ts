/**
 * Members who returned by a fork. If one history removed a member or lowered its role, another
 * history must not undo that (protocol, section 4).
 */
import { inQuotes } from '../../api/name-text.ts'
import {
  type RosterRole,
  type Roster,
  goneSince,
  readRosterEntry,
} from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import { historiesOf, lowestRole } from './histories.ts'
import { rememberedRoster } from './roster-cache.ts'

/**
 * Returns the role with which this device adds an account to a replacement. It is the lowest role
 * that the account has in any stored history of the forked connection.
 * @returns null if the account left or was removed in a history; `member` if no history names it
 */
export function roleBefore(state: State, { replaces }: Roster, account: string): RosterRole | null {
  const histories = replaces === null ? null : historiesOf(state, replaces)
  if (histories === null) return 'member'
  const lowest = lowestRole([...histories.ours, ...histories.others], account)
  return lowest === undefined ? 'member' : lowest
}

const isHigher = (role: RosterRole, than: RosterRole | null | undefined): boolean =>
  than === null || (than === 'member' && role === 'owner')

/**
 * Returns the accounts that are in doubt.
 *
 * They are the accounts that returned by a fork, those that such an account added or made an owner,
 * and those with new keys that such an account confirmed. The entries of the replacement decide. An
 * account is no longer in doubt when another owner adds it again, or gives it a role while the
 * forked connection still has it.
 * @param lowest returns an account's lowest role in the forked connection, see `lowestRole`
 */
function doubtfulIn(
  { entries }: Roster,
  own: string,
  lowest: (account: string) => RosterRole | null | undefined,
): ReadonlySet<string> {
  const doubtful = new Set<string>()
  const added = new Set<string>()
  const setDoubtful = (account: string, isDoubtful: boolean): void => {
    if (isDoubtful && account !== own) doubtful.add(account)
    else doubtful.delete(account)
  }
  for (const { op, actor, member, role } of entries.map((jws) => readRosterEntry(jws))) {
    const isByOne = doubtful.has(actor)
    if (op === 'open') setDoubtful(actor, isHigher('owner', lowest(actor)))
    if (op === 'add') {
      // An owner's device adds each member of the forked connection once, automatically.
      setDoubtful(member!, isByOne || (!added.has(member!) && isHigher(role!, lowest(member!))))
      added.add(member!)
    }
    if (op === 'confirm' && isByOne) setDoubtful(member!, true)
    if (op === 'role' && isByOne && role === 'owner') setDoubtful(member!, true)
    if (op === 'role' && !isByOne && lowest(member!) !== null) setDoubtful(member!, false)
  }
  return doubtful
}

/**
 * Returns the members of a replacement who returned by a fork, and the members whom they added.
 *
 * A member returned if it left, was removed or lost the owner role in this device's branch, but has
 * that membership or role in the replacement. While there is such a member, no words of the
 * replacement verify. If this device's account created the replacement, the other histories count
 * too. Returns none if this account left the replacement and joined it again, because the user then
 * decided.
 */
export function returnedIn(state: State, own: string, replacement: Roster): string[] {
  const { replaces, entries, members } = replacement
  if (replaces === null || goneSince(replacement, own, 0).length > 0) return []
  const branch = rememberedRoster(state, replaces)
  const histories = historiesOf(state, replaces)
  if (branch === null || histories === null) return []
  const opener = readRosterEntry(entries[0]!).actor
  // A device automatically joins only an owner's replacement. Otherwise the user decided.
  const isFollowed = branch.roster.members.some(
    (one) => one.account === opener && one.role === 'owner',
  )
  if (!isFollowed) return []
  const known = opener === own ? [...histories.ours, ...histories.others] : histories.ours
  const doubtful = doubtfulIn(replacement, own, (account) => lowestRole(known, account))
  return members.map(({ account }) => account).filter((account) => doubtful.has(account))
}

const nameOf = ({ names }: State, account: string) => inQuotes(names.get(account) ?? account)

const inviting = (connection: string, account: string) =>
  `If this member belongs in the connection, run "countersignd invite ${connection} ${account}".`

/** Returns the message about a member that this device did not invite to a replacement. */
export const notInvited = (state: State, replacement: string, account: string): string =>
  `${nameOf(state, account)} was not invited, because this member left or was removed in one of the two histories. ${inviting(replacement, account)}`

/** Returns the error for an invited account that left or was removed in a later stored history. */
export const leftOutError = (state: State, replacement: string, account: string): AppError =>
  new AppError(
    'invalid_state',
    `${nameOf(state, account)} left the connection that this one replaces, or was removed from it, and was therefore not added. ${inviting(replacement, account)}`,
    { details: { state: 'left_out' } },
  )

/** Returns why no words of a replacement verify while an account is in it, and the remedy. */
export const cameBack = (state: State, replacement: string, account: string): string =>
  `${nameOf(state, account)} came back through the fork: this member had left the connection that this one replaces, had been removed from it or made an ordinary member there, or was added by such a member. No words of this connection can be checked until an owner removes this member ("countersignd connection remove-member ${replacement} ${account}"). If the member belongs in the connection, the owner can then invite the member again. Otherwise, leave this connection and approve another invitation to it.`
