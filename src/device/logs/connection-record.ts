/**
 * A connection as this device stores it, derived from its verified roster. The account server
 * supplies only names.
 */
import type { Connection } from '../../api/rest/connections.ts'
import { ZERO_HEAD } from '../../crypto/code.ts'
import { keyCommitment } from '../../crypto/logs/roster-form.ts'
import { isHeld, readRosterEntry, type Roster } from '../../crypto/logs/roster.ts'
import type { RefusalReason } from '../../crypto/refusal.ts'
import type { ConnectionRow, Hold, NamedMember } from '../../state/connections.ts'
import type { State } from '../../state/state.ts'
import type { Codes } from '../codes/codes.ts'
import type { Identity } from '../identity/identity.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'
import type { Vault } from '../identity/vault.ts'
import { presentMembers } from './deleted-members.ts'
import { dropOpening } from './openings.ts'
import { returnedIn } from './returned.ts'
import { isDoubted } from './reviewed-keys.ts'
import { type KnownRoster, rememberedRoster } from './roster-cache.ts'

/** What is needed to store a connection. */
interface Keeping {
  readonly state: State
  readonly codes: Codes
  readonly vault: Vault
  readonly identity: Pick<Identity, 'account'>
}

/**
 * Returns the members with their local names. A known account keeps the name that it had when it
 * was accepted.
 */
function pinned(
  { names }: State,
  { members }: Roster,
  reported: Connection['members'],
): NamedMember[] {
  const nameOf = new Map(reported.map(({ user_id, display_name }) => [user_id, display_name]))
  return members.map(({ account }) => {
    const name = nameOf.get(account)
    const display_name = name === undefined ? names.get(account) : names.pin(account, name)
    return { user_id: account, display_name: display_name ?? account }
  })
}

/** Returns the members' newest key logs: for each, the given log or a longer stored one. */
export function newestLogs(state: State, { roster, keyLogs }: KnownRoster): KnownRoster['keyLogs'] {
  const newest = new Map(keyLogs)
  for (const { account } of roster.members) {
    const seq = state.logs.head('keylog', account)?.seq ?? -1
    const log = seq > (keyLogs.get(account)?.seq ?? -1) ? rememberedLog(state, account) : null
    if (log !== null) newest.set(account, log)
  }
  return newest
}

/**
 * Returns the reason why a connection is suspended; null if it is not.
 *
 * A fork suspends it permanently, even if the account server did not list the connection for a
 * while. Keys that the user has not reviewed count like a revoked device's keys, because their
 * owner may be able to compute words. The same applies to a member who returned by a fork.
 */
function holdOf(
  { state, identity }: Pick<Keeping, 'state' | 'identity'>,
  known: KnownRoster,
): Hold | null {
  const roster = presentMembers(state, known.roster)
  if (state.forks.has(roster.connection)) return 'roster_forked'
  if (roster.ended) return 'ended'
  const isDoubtful =
    roster.members.some((member) => isDoubted(state, member)) ||
    returnedIn(state, identity.account, roster).length > 0
  return isDoubtful || isHeld(roster, newestLogs(state, known)) ? 'rotation_pending' : null
}

/** Stores the current state of a connection. Its words are then checked by that state. */
export function keepConnection(
  device: Keeping,
  connection: Connection,
  known: KnownRoster,
): ConnectionRow {
  const { state, codes } = device
  const { id, name } = connection
  const { epoch, epochHead: head } = known.roster
  const row = {
    id,
    name,
    epoch,
    head,
    members: pinned(state, presentMembers(state, known.roster), connection.members),
    hold: holdOf(device, known),
    updated_at: Date.parse(connection.updated_at),
  }
  state.transaction(() => {
    state.connections.put(row)
    // If the request that creates the connection is still stored, it succeeded and only its
    // response was lost.
    dropOpening(state, id)
    noteReplacement(state, known.roster)
  })
  codes.putConnection(row)
  return row
}

/** Stores the roster of a connection that has a row. The account server's data follows later. */
export function keepRoster(device: Keeping, known: KnownRoster): void {
  const { state, codes } = device
  const { connection: id, epoch, epochHead: head } = known.roster
  const row = state.connections.get(id)
  if (row === null) return
  const members = pinned(state, presentMembers(state, known.roster), [])
  const updated = { ...row, epoch, head, members, hold: holdOf(device, known) }
  state.transaction(() => {
    // A request that failed can have stored a roster with a new epoch before its secret was here.
    if (row.epoch !== epoch) dropOtherSecret(device, known.roster)
    state.connections.put(updated)
  })
  codes.putConnection(updated)
}

/** Deletes the secret of a connection if it is not the current epoch's. */
function dropOtherSecret({ vault }: Keeping, { connection, epoch, kCommit }: Roster): void {
  const k = vault.find(connection)
  if (k === null || keyCommitment(connection, epoch, k) !== kCommit) vault.delete(connection)
  k?.fill(0)
}

/**
 * Stores which connection this one replaces. Each use checks whether its creator may replace that
 * one.
 */
function noteReplacement({ replacements }: State, { connection, replaces, entries }: Roster): void {
  if (replaces === null) return
  replacements.put({ connection, replaces, opener: readRosterEntry(entries[0]!).actor })
}

/**
 * Updates which of a member's connections are suspended.
 *
 * Must be called after the member's keys, or the user's trust in the keys, changed. If a device of
 * the own account was revoked, all connections are suspended until they have a new secret (section
 * 4).
 */
export function judgeHolds(device: Keeping, member: string): void {
  const { state, identity } = device
  if (member === identity.account) return holdAll(device)
  for (const id of state.connections.withMember(member)) {
    const known = rememberedRoster(state, id)
    if (known !== null) keepRoster(device, known)
  }
}

function holdAll({ state, codes }: Keeping): void {
  for (const id of state.connections.holdAll('rotation_pending')) codes.putConnection({ id })
}

/**
 * Returns the row for a connection that was refused when it was first seen. The row only records
 * that the connection cannot be checked.
 */
const unknown = (of: Pick<ConnectionRow, 'id' | 'name'>): ConnectionRow => ({
  ...of,
  epoch: 0,
  head: ZERO_HEAD,
  members: [],
  hold: null,
  updated_at: 0,
})

/**
 * Stores that a connection was refused. An unknown connection gets a row. If the history forked,
 * the connection no longer verifies any words.
 */
export function holdRefused(
  { state, codes }: Pick<Keeping, 'state' | 'codes'>,
  of: Pick<ConnectionRow, 'id' | 'name'>,
  reason: RefusalReason,
): void {
  const known = state.connections.get(of.id)
  const isForked = reason === 'roster_forked'
  if (known !== null && !isForked) return
  const row = known ?? unknown(of)
  const updated = isForked ? { ...row, hold: 'roster_forked' as const } : row
  state.connections.put(updated)
  codes.putConnection(updated)
}
