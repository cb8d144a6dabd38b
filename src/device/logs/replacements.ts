/**
 * The replacements of a forked connection that this device accepts (protocol, section 4).
 *
 * An owner in this device's branch, which is the stored roster, must have created them.
 */
import { inQuotes } from '../../api/name-text.ts'
import { isLinked } from '../../crypto/logs/generations.ts'
import { type RosterMember, type Roster, unconfirmedMembers } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { ReplacementRow } from '../../state/forks.ts'
import type { State } from '../../state/state.ts'
import { presentMembers } from './deleted-members.ts'
import { historiesOf, lowestRole } from './histories.ts'
import { type KnownRoster, rememberedRoster } from './roster-cache.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'

/**
 * Returns the owners at the head of a branch, in the order in which they joined. Excludes owners
 * with keys that are not linked to the keys of their membership.
 */
export function ownersOf(state: State, { roster, keyLogs }: KnownRoster): string[] {
  const unconfirmed = unconfirmedMembers(roster, keyLogs)
  return presentMembers(state, roster)
    .members.filter(({ role }) => role === 'owner')
    .map(({ account }) => account)
    .filter((account) => !unconfirmed.includes(account))
}

/**
 * Checks whether this device may join a replacement that an account created. The account must be an
 * owner in the branch. If the user follows the account, its keys must be the reviewed ones.
 */
export function mayReplace(state: State, branch: KnownRoster, opener: string): boolean {
  if (!ownersOf(state, branch).includes(opener)) return false
  const row = state.trust.get(opener)
  const newest = branch.keyLogs.get(opener)?.generation
  return row === null || (row.refused === null && row.pinned === newest)
}

/**
 * Returns the accepted replacements of a forked connection that have not ended, by id. If there are
 * several, all devices prefer the first.
 * @param own the own account id
 */
export function replacementsOf(state: State, own: string, forked: string): ReplacementRow[] {
  if (!state.forks.has(forked)) return []
  const rows = state.replacements.of(forked)
  const branch = rows.length === 0 ? null : rememberedRoster(state, forked)
  if (branch === null) return []
  return rows.filter(({ opener }) => opener === own || mayReplace(state, branch, opener))
}

/**
 * Returns a check whether an account left, or was removed, in any stored history of a fork.
 *
 * No device adds such an account to a replacement automatically.
 */
export function leftOutOf(state: State, forked: string): (account: string) => boolean {
  const histories = historiesOf(state, forked)
  const all = histories === null ? [] : [...histories.ours, ...histories.others]
  return (account) => lowestRole(all, account) === null
}

/**
 * Checks whether every member of one connection is in another, by the stored rows. Ignores accounts
 * that are left out of the replacements of `forked`.
 */
export function areAllIn(state: State, forked: string, one: string, other: string): boolean {
  const { connections } = state
  const there = new Set(connections.get(other)?.members.map(({ user_id }) => user_id))
  const isLeftOut = leftOutOf(state, forked)
  const isIn = ({ user_id: account }: { user_id: string }) =>
    there.has(account) || isLeftOut(account)
  return connections.get(one)?.members.every(isIn) ?? false
}

/**
 * Returns an account's membership in the connection that a roster replaces; null if there is none.
 */
export const membershipBefore = (
  state: State,
  { replaces }: Roster,
  account: string,
): RosterMember | null => {
  const branch = replaces === null ? null : rememberedRoster(state, replaces)
  return branch?.roster.members.find((one) => one.account === account) ?? null
}

/**
 * Requires that a member of a replacement has the keys of its previous membership.
 *
 * These are the keys of its membership in the forked connection. Keys that the user confirmed are
 * accepted too. So a reset account cannot use a fork to become a member.
 * @throws AppError invalid_state
 */
export function requireKeysOfSession(state: State, { account, generation }: RosterMember): void {
  const log = rememberedLog(state, account)
  if (log === null || isLinked(log, generation, log.generation)) return
  const row = state.trust.get(account)
  if (row !== null && row.confirmed && row.pinned === log.generation) return
  throw new AppError(
    'invalid_state',
    `All devices of ${account} were replaced. Compare the safety number, then confirm the new keys ("countersignd trust confirm ${account}").`,
    { details: { state: 'changed_unverified' } },
  )
}

const FORKED =
  'This connection forked: the account server showed two histories of it, so its words can no longer be checked.'

const namesOf = ({ connections, names }: State, id: string, accounts: readonly string[]) => {
  const members = connections.get(id)?.members ?? []
  const nameOf = (account: string) =>
    members.find(({ user_id }) => user_id === account)?.display_name ?? names.get(account)
  return accounts.map((account) => inQuotes(nameOf(account) ?? account)).join(' or ')
}

/** Returns the sentence about what happens to a forked connection, with the remedy. */
function nextStep(state: State, own: string, id: string): string {
  const replacement = state.replacements.inPlaceOf(id)
  if (replacement !== null) {
    const name = state.connections.get(replacement)?.name ?? ''
    return `The connection ${inQuotes(name)} (${replacement}) replaced this connection. Use ${inQuotes(name)}, and delete this connection.`
  }
  const branch = rememberedRoster(state, id)
  const owners = branch === null ? [] : ownersOf(state, branch)
  // Which accounts to invite is not computed here, because that would verify histories at each
  // request for words.
  if (owners.includes(own))
    return 'At the next sync ("countersignd sync"), this device or another device of an owner opens a new connection that replaces this one, unless both histories together leave no member to invite. If no new connection appears, create a connection with the people who belong in it ("countersignd connection create"), and delete this one.'
  const ask = owners.length === 0 ? '' : ` or ask ${namesOf(state, id, owners)} to create one`
  return `A device of an owner that saw both histories opens a new connection that replaces this one. This device joins the new connection at a sync. If no new connection appears, create one${ask}.`
}

/**
 * Returns the error for a forked connection, which accepts no more entries and has no words.
 * @param own the own account id
 */
export const forkedError = (state: State, own: string, id: string): AppError =>
  new AppError('invalid_state', `${FORKED} ${nextStep(state, own, id)}`, {
    details: { state: 'roster_forked' },
  })
