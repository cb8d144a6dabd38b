/** A connection as this device keeps it: what its checked roster says, and of the account server's word only the names. */
import type { Connection } from '../../api/rest/connections.ts'
import { ZERO_HEAD } from '../../crypto/code.ts'
import type { Reason } from '../../crypto/refusal.ts'
import { type Roster, isHeld, readEntry } from '../../crypto/logs/roster.ts'
import type { ConnectionRow, Hold, Member } from '../../state/connections.ts'
import type { State } from '../../state/state.ts'
import type { Codes } from '../codes/codes.ts'
import { present } from './deleted-members.ts'
import type { Identity } from '../identity/identity.ts'
import { isDoubted } from './reviewed-keys.ts'
import { dropOpening } from './openings.ts'
import { type Known, rememberedRoster } from './roster-cache.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'
import { returnedIn } from './returned.ts'

/** What keeps connections. */
interface Keeping {
  readonly state: State
  readonly codes: Codes
  readonly identity: Pick<Identity, 'account'>
}

/** Names are the local ones: whoever is known keeps the name under which they were accepted. */
function pinned({ names }: State, { members }: Roster, told: Connection['members']): Member[] {
  const nameOf = new Map(told.map(({ user_id, display_name }) => [user_id, display_name]))
  return members.map(({ account }) => {
    const name = nameOf.get(account)
    const display_name = name === undefined ? names.get(account) : names.pin(account, name)
    return { user_id: account, display_name: display_name ?? account }
  })
}

/** The key logs of the members, as they were given or, where they have grown since, as they are remembered. */
export function newestLogs(state: State, { roster, keyLogs }: Known): Known['keyLogs'] {
  const newest = new Map(keyLogs)
  for (const { account } of roster.members) {
    const seq = state.logs.head('keylog', account)?.seq ?? -1
    const log = seq > (keyLogs.get(account)?.seq ?? -1) ? rememberedLog(state, account) : null
    if (log !== null) newest.set(account, log)
  }
  return newest
}

/**
 * What holds a connection. Of a fork nothing comes back, also where the account server left the
 * connection out meanwhile. Keys that the person has not looked at are no better than those of a
 * revoked device: their holder can say words here. So can who came back by a fork.
 */
function holdOf(
  { state, identity }: Pick<Keeping, 'state' | 'identity'>,
  known: Known,
): Hold | null {
  const roster = present(state, known.roster)
  if (state.forks.has(roster.connection)) return 'roster_forked'
  if (roster.ended) return 'ended'
  const isDoubtful =
    roster.members.some((member) => isDoubted(state, member)) ||
    returnedIn(state, identity.account, roster).length > 0
  return isDoubtful || isHeld(roster, newestLogs(state, known)) ? 'rotation_pending' : null
}

/** Keep what is known of a connection now, and let its words be checked by that. */
export function keepConnection(
  device: Keeping,
  connection: Connection,
  known: Known,
): ConnectionRow {
  const { state, codes } = device
  const { id, name } = connection
  const { epoch, epochHead: head } = known.roster
  const row = {
    id,
    name,
    epoch,
    head,
    members: pinned(state, present(state, known.roster), connection.members),
    hold: holdOf(device, known),
    updated_at: Date.parse(connection.updated_at),
  }
  state.transaction(() => {
    state.connections.put(row)
    // It was opened here, and only the answer was lost.
    dropOpening(state, id)
    noteReplacement(state, known.roster)
  })
  codes.putConnection(row)
  return row
}

/** Keep what a roster says of a connection that is known: what the account server says of it comes later. */
export function keepRoster(device: Keeping, known: Known): void {
  const { state, codes } = device
  const { connection: id, epoch, epochHead: head } = known.roster
  const row = state.connections.get(id)
  if (row === null) return
  const members = pinned(state, present(state, known.roster), [])
  const kept = { ...row, epoch, head, members, hold: holdOf(device, known) }
  state.connections.put(kept)
  codes.putConnection(kept)
}

/** Note what a connection replaces; whether its opener may is judged when it is asked for. */
function noteReplacement({ replacements }: State, { connection, replaces, entries }: Roster): void {
  if (replaces === null) return
  replacements.put({ connection, replaces, opener: readEntry(entries[0]!).actor })
}

/**
 * What is known or thought of somebody's keys has changed: the connections that they are in may be held back, or no more. Where a device
 * of the own account was revoked, all are: none verifies until it has a new secret (section 4).
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

/** Of a connection that was refused at first sight nothing is known, but that it cannot be checked. */
const unknown = (of: Pick<ConnectionRow, 'id' | 'name'>): ConnectionRow => ({
  ...of,
  epoch: 0,
  head: ZERO_HEAD,
  members: [],
  hold: null,
  updated_at: 0,
})

/** What the account server showed of a connection was refused. One whose history forks verifies nothing any more. */
export function holdRefused(
  { state, codes }: Pick<Keeping, 'state' | 'codes'>,
  of: Pick<ConnectionRow, 'id' | 'name'>,
  reason: Reason,
): void {
  const known = state.connections.get(of.id)
  const isForked = reason === 'roster_forked'
  if (known !== null && !isForked) return
  const row = known ?? unknown(of)
  const held = isForked ? { ...row, hold: 'roster_forked' as const } : row
  state.connections.put(held)
  codes.putConnection(held)
}
