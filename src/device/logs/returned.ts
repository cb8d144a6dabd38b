/**
 * Members who came back by a fork. A history without a removal, or with a higher role, must not
 * undo what another history of the connection records (protocol, section 4).
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
 * @returns null where it left one of them or was removed there; `member` where none names it
 */
export function roleBefore(state: State, { replaces }: Roster, account: string): RosterRole | null {
  const histories = replaces === null ? null : historiesOf(state, replaces)
  if (histories === null) return 'member'
  const lowest = lowestRole([...histories.kept, ...histories.others], account)
  return lowest === undefined ? 'member' : lowest
}

const isHigher = (role: RosterRole, than: RosterRole | null | undefined): boolean =>
  than === null || (than === 'member' && role === 'owner')

/**
 * Returns the accounts in doubt. These are the accounts that came back by a fork, those that they
 * added or made owners, and those with new keys that they confirmed. The entries of the
 * replacement decide. An account is out of doubt once another owner adds it again, or gives it a
 * role while the forked connection still has it.
 * @param lowest the lowest role that an account has in the forked connection, see `lowestRole`
 */
function doubtfulIn(
  { entries }: Roster,
  own: string,
  lowest: (account: string) => RosterRole | null | undefined,
): ReadonlySet<string> {
  const doubtful = new Set<string>()
  const seated = new Set<string>()
  const judge = (account: string, isDoubtful: boolean): void => {
    if (isDoubtful && account !== own) doubtful.add(account)
    else doubtful.delete(account)
  }
  for (const { op, actor, member, role } of entries.map((jws) => readRosterEntry(jws))) {
    const isByOne = doubtful.has(actor)
    if (op === 'open') judge(actor, isHigher('owner', lowest(actor)))
    if (op === 'add') {
      // The device of an owner adds the members of the forked connection by itself, each once.
      judge(member!, isByOne || (!seated.has(member!) && isHigher(role!, lowest(member!))))
      seated.add(member!)
    }
    if (op === 'confirm' && isByOne) judge(member!, true)
    if (op === 'role' && isByOne && role === 'owner') judge(member!, true)
    if (op === 'role' && !isByOne && lowest(member!) !== null) judge(member!, false)
  }
  return doubtful
}

/**
 * Returns the members of a replacement who came back by a fork, and those that they added. A
 * member came back if the replacement has it, or has it as an owner, although it left the branch
 * kept here, or was removed or lost the owner role there. Nothing of the replacement verifies
 * while it has any such member. For members that this device added by itself, other histories
 * count like the branch. Returns none where this account left the replacement and came back: its
 * user was asked and decided.
 */
export function returnedIn(state: State, own: string, replacement: Roster): string[] {
  const { replaces, entries, members } = replacement
  if (replaces === null || goneSince(replacement, own, 0).length > 0) return []
  const branch = rememberedRoster(state, replaces)
  const histories = historiesOf(state, replaces)
  if (branch === null || histories === null) return []
  const opener = readRosterEntry(entries[0]!).actor
  // A device follows only an owner to a replacement by itself. Otherwise the user was asked.
  const isFollowed = branch.roster.members.some(
    (one) => one.account === opener && one.role === 'owner',
  )
  if (!isFollowed) return []
  const known = opener === own ? [...histories.kept, ...histories.others] : histories.kept
  const doubtful = doubtfulIn(replacement, own, (account) => lowestRole(known, account))
  return members.map(({ account }) => account).filter((account) => doubtful.has(account))
}

const nameOf = ({ names }: State, account: string) => inQuotes(names.get(account) ?? account)

const inviting = (connection: string, account: string) =>
  `Invite them ("countersignd invite ${connection} ${account}") if they belong in it.`

/** Returns the message about a member that this device did not invite to a replacement. */
export const notInvited = (state: State, replacement: string, account: string): string =>
  `${nameOf(state, account)} was not invited, because they left or were removed in one of the two histories. ${inviting(replacement, account)}`

/**
 * The error where this device invited an account that left or was removed in a history stored
 * since.
 */
export const leftOutError = (state: State, replacement: string, account: string): AppError =>
  new AppError(
    'invalid_state',
    `${nameOf(state, account)} left the connection that this one replaces, or was removed there, so they were not added. ${inviting(replacement, account)}`,
    { details: { state: 'left_out' } },
  )

/** Returns why nothing of a replacement verifies while an account is in it, and the remedy. */
export const cameBack = (state: State, replacement: string, account: string): string =>
  `${nameOf(state, account)} left the connection that this one replaces, or was removed or made an ordinary member there, and came back through the fork, or was added by such a member. No words can be checked here until an owner removes them ("countersignd connection remove-member ${replacement} ${account}") and, if they belong in it, invites them again. Or leave this connection, and approve another invitation to it.`
