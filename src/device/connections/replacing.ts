/**
 * Replaces forked connections: an owner creates a new connection, and members join it.
 *
 * An owner's device creates the new connection and invites the members of its branch. A member's
 * device joins without user interaction if it has the evidence of the fork. If several owners
 * create a replacement at the same time, one replacement remains.
 * @see protocol, section 4
 */
import type { Account } from '../../api/port.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { readRosterEntry, verifyRoster } from '../../crypto/logs/roster.ts'
import type { ForkedRow } from '../../state/forks.ts'
import type { State } from '../../state/state.ts'
import { openConnection } from './connections.ts'
import { giveConsent } from './consents.ts'
import { presentMembers } from '../logs/deleted-members.ts'
import { dismissed } from './ignored-connections.ts'
import { pullKeyLog } from '../logs/key-log.ts'
import { holdRefused, keepRoster } from '../logs/connection-record.ts'
import { leaveOrEnd } from './members.ts'
import { keepFork, rememberedRoster } from '../logs/roster-cache.ts'
import { areAllIn, leftOutOf, mayReplace, ownersOf, replacementsOf } from '../logs/replacements.ts'
import type { Signing } from './roster-entries.ts'
import { type RosterFork, fetchRoster, judgeFork } from '../logs/rosters.ts'

/**
 * The time between the turns of two owners, in milliseconds.
 *
 * With turns, usually only one owner creates a replacement.
 */
const TURN_MS = 10 * 60_000
/**
 * The maximum number of stored entries of other histories.
 *
 * A dishonest server could send new histories forever.
 */
const MOST_HEARD = 10_000

type Hints = Awaited<ReturnType<Account['duties']['read']>>
/** An invitation to a replacement, as the account server announces it. */
type Hint = NonNullable<Hints['replacements']>[number]

/**
 * Returns two entries with the same seq: one of this device's branch, and one of the other branch.
 */
function evidence({ logs, forks }: State, connection: string): RosterFork | null {
  const other = forks.read(connection)[0]
  const stored = other && logs.read('roster', connection)[other.seq]
  return stored === undefined ? null : [stored, other!.entry]
}

/**
 * Checks whether this device has two branches of a connection.
 *
 * Two entries that an owner of this device's branch presents are accepted as evidence, because an
 * owner could also end the connection.
 * @throws any error from the account server
 */
export async function seesFork(
  device: Signing,
  account: Account,
  of: { connection: string; opener: string; fork: RosterFork | null },
): Promise<boolean> {
  const { state } = device
  const { connection, opener, fork } = of
  if (state.forks.has(connection)) return true
  const branch = rememberedRoster(state, connection)
  const row = state.connections.get(connection)
  if (fork === null || branch === null || branch.roster.ended || row === null) return false
  if (opener !== device.identity.account && !mayReplace(state, branch, opener)) return false
  if (!(await judgeFork(device, account, connection, fork))) return false
  holdRefused(device, row, 'roster_forked')
  return true
}

/**
 * Consents to the replacement of a connection, if this device has both of its branches.
 *
 * The account that created the replacement must have been an owner at the head of this device's
 * branch, with keys known here. The device consents only once, because joining a replacement again
 * is the user's decision.
 * @returns the id of the forked connection; null if this device does not join
 * @throws Refusal if an entry or a key log breaks a rule; AppError for any error from the account
 *   server
 */
export async function joinReplacement(
  device: Signing,
  account: Account,
  { invitation, entry, fork }: Hint,
): Promise<string | null> {
  const { state, identity } = device
  const { connection, replaces, actor: opener, device: signer } = readRosterEntry(entry)
  // This device does not join the replacement of an ignored connection.
  if (replaces === undefined || dismissed(state).has(replaces)) return null
  if (state.logs.head('roster', connection) !== null) return null
  const before = rememberedRoster(state, replaces)
  const isOwn = before?.roster.members.some((one) => one.account === identity.account) ?? false
  if (!isOwn || before?.roster.ended) return null
  const log = await pullKeyLog(device, account, opener)
  const branch = rememberedRoster(state, replaces)!
  if (!mayReplace(state, branch, opener)) return null
  verifyRoster(connection, [entry], new Map([[opener, log]]))
  if (log.active.every(({ id }) => id !== signer)) return null
  if (!(await seesFork(device, account, { connection: replaces, opener, fork }))) return null
  await giveConsent(device, account, invitation, { connection, inviter: opener })
  return replaces
}

/**
 * Fetches how the histories of a forked connection continued.
 *
 * A member may have been removed in one history since. Entries that break a rule are ignored.
 * @throws AppError for any error from the account server
 */
export async function hearHistories(
  device: Signing,
  account: Account,
  { connection }: Pick<ForkedRow, 'connection'>,
): Promise<void> {
  const { state } = device
  const before = state.forks.read(connection).length
  if (state.replacements.isSettled(connection) || before >= MOST_HEARD) return
  try {
    const { roster } = await fetchRoster(device, account, connection)
    // This device's branch stays at the fork, because its owners create the replacement.
    keepFork(state, connection, roster.entries)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
  if (state.forks.read(connection).length === before) return
  for (const row of state.replacements.of(connection)) {
    const known = rememberedRoster(state, row.connection)
    if (known !== null) keepRoster(device, known)
  }
}

/** A replacement that this device created. */
interface Opened {
  readonly id: string
  /** Members of the branch who were not invited: they left or were removed in another history. */
  readonly leftOut: readonly string[]
}

/**
 * Creates the replacement of a forked connection when it is this owner's turn.
 *
 * This account must be an owner in this device's branch, and there must be no replacement yet. The
 * members of the branch are invited, except those who left or were removed in another history known
 * here.
 * @returns null if no replacement is due
 * @throws AppError for any error from the account server
 */
export async function openReplacement(
  device: Signing,
  account: Account,
  { connection, seen_at, act }: ForkedRow,
): Promise<Opened | null> {
  const { state, identity, now } = device
  const row = state.connections.get(connection)
  const branch = rememberedRoster(state, connection)
  if (row === null || branch === null || branch.roster.ended) return null
  if (replacementsOf(state, identity.account, connection).length > 0) return null
  const turn = ownersOf(state, branch).indexOf(identity.account)
  if (turn === -1 || Math.abs(now() - seen_at) < turn * TURN_MS) return null
  const isLeftOut = leftOutOf(state, connection)
  const others = presentMembers(state, branch.roster)
    .members.map((one) => one.account)
    .filter((one) => one !== identity.account)
  const invite = others.filter((one) => !isLeftOut(one)).map((one) => ({ user_id: one }))
  const fork = evidence(state, connection)
  if (invite.length === 0 || fork === null) return null
  const wanted = { name: row.name, invite, preset_id: null, replaces: connection, fork }
  const made = await openConnection(device, account, wanted, { id: act, at: seen_at })
  return { id: made.id, leftOut: others.filter(isLeftOut) }
}

/** Determines from the current state which replacement a forked connection has. */
export function judgeReplacement({ state, identity, codes }: Signing, forked: string): void {
  const [first] = replacementsOf(state, identity.account, forked)
  const isSettled = first !== undefined && areAllIn(state, forked, forked, first.connection)
  const isNew = state.replacements.setReplacement(forked, first?.connection ?? null, isSettled)
  if (isNew) codes.putConnection({ id: forked })
}

/**
 * Leaves all replacements of a connection except the first one.
 *
 * Another replacement is left when all its members are in the first one, and all members of the
 * branch are in the first one or invited to it. The last member who leaves ends the replacement.
 * Its only owner waits until the others have left.
 * @throws AppError as `leaveOrEnd` does
 */
export async function leaveDuplicates(
  device: Signing,
  account: Account,
  forked: string,
): Promise<void> {
  const { state, identity } = device
  const [first, ...others] = replacementsOf(state, identity.account, forked)
  if (first === undefined) return
  const left = others
    .map(({ connection }) => connection)
    .filter((id) => areAllIn(state, forked, id, first.connection))
  if (left.length === 0) return
  const { members } = await account.connections.read({ id: first.connection })
  const there = new Set(members.map(({ user_id }) => user_id))
  const branch = state.connections.get(forked)?.members ?? []
  const isLeftOut = leftOutOf(state, forked)
  if (!branch.every(({ user_id: one }) => there.has(one) || isLeftOut(one))) return
  for (const id of left) await leaveOrEnd(device, account, id)
}
