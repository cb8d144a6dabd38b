/** A connection as this device keeps it: what its checked roster says, and of the account server's word only the names. */
import type { Connection } from '../api/rest/connections.ts'
import { ZERO_HEAD } from '../crypto/code.ts'
import type { Reason } from '../crypto/refusal.ts'
import { type Roster, heldBack } from '../crypto/roster.ts'
import type { ConnectionRow, Hold, Member } from '../state/connections.ts'
import type { State } from '../state/state.ts'
import type { Codes } from './codes.ts'
import { dropOpening } from './openings.ts'
import { type Known, rememberedRoster } from './rosters.ts'

/** Names are the local ones: whoever is known keeps the name under which they were accepted. */
function pinned({ names }: State, { members }: Roster, told: Connection['members']): Member[] {
  const nameOf = new Map(told.map(({ user_id, display_name }) => [user_id, display_name]))
  return members.map(({ account }) => {
    const name = nameOf.get(account)
    const display_name = name === undefined ? names.get(account) : names.pin(account, name)
    return { user_id: account, display_name: display_name ?? account }
  })
}

/** What holds a connection back. Of a fork nothing comes back, also where the account server left the connection out meanwhile. */
function holdOf({ forks }: State, { roster, keyLogs }: Known, own: string): Hold | null {
  if (forks.has(roster.connection)) return 'roster_forked'
  return heldBack(roster, keyLogs, own) ? 'rotation_pending' : null
}

/**
 * Keep what is known of a connection now, and let its words be checked by that.
 * @param own the own account
 */
export function keepConnection(
  { state, codes }: { state: State; codes: Codes },
  own: string,
  connection: Connection,
  known: Known,
): ConnectionRow {
  const { id, name } = connection
  const { epoch, epochHead: head } = known.roster
  const row = {
    id,
    name,
    epoch,
    head,
    members: pinned(state, known.roster, connection.members),
    hold: holdOf(state, known, own),
    updated_at: Date.parse(connection.updated_at),
  }
  state.transaction(() => {
    state.connections.put(row)
    // It was opened here, and only the answer was lost.
    dropOpening(state, id)
  })
  codes.putConnection(row)
  return row
}

/** Keep what a roster says of a connection that is known: what the account server says of it comes later. */
export function keepRoster(
  { state, codes }: { state: State; codes: Codes },
  own: string,
  known: Known,
): void {
  const { connection: id, epoch, epochHead: head } = known.roster
  const row = state.connections.get(id)
  if (row === null) return
  const members = pinned(state, known.roster, [])
  const kept = { ...row, epoch, head, members, hold: holdOf(state, known, own) }
  state.connections.put(kept)
  codes.putConnection(kept)
}

/** The key log of somebody has grown here: what it says may hold back the connections that they are in. */
export function judgeHolds(
  device: { state: State; codes: Codes },
  own: string,
  member: string,
): void {
  for (const { id, members } of device.state.connections.all()) {
    if (!members.some(({ user_id }) => user_id === member)) continue
    const known = rememberedRoster(device.state, id)
    if (known !== null) keepRoster(device, own, known)
  }
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
  { state, codes }: { state: State; codes: Codes },
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
