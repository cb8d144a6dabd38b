/**
 * Signs roster entries that change a connection's members, roles or secret.
 *
 * Each operation is decided from the newest verified roster. The members and roles that the account
 * server reports are not used.
 */
import type { Account } from '../../api/port.ts'
import type { Connection } from '../../api/rest/connections.ts'
import {
  type RosterMember,
  type RosterRole,
  type Roster,
  type Signer,
  accountsInRoster,
  addMember,
  changeRole,
  confirmMember,
  endConnection,
  goneSince,
  holdersOf,
  isHeld,
  leave,
  openerOf,
  removeMember,
  rotate,
  rotationDue,
  unconfirmedMembers,
} from '../../crypto/logs/roster.ts'
import { onRefusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { presentMembers } from '../logs/deleted-members.ts'
import { newestOf, pullKeyLog } from '../logs/key-log.ts'
import { frequentHolders, noteHoldUps, type RotationWaits } from '../logs/hold-ups.ts'
import { requireLooked } from '../logs/reviewed-keys.ts'
import {
  type Next,
  type Signing,
  changeRoster,
  changeUnasked,
  continueRoster,
  requireCompleteLog,
  newSecret,
  readRoster,
} from './roster-entries.ts'
import type { KnownRoster } from '../logs/roster-cache.ts'
import { requireKeysOfSession, membershipBefore } from '../logs/replacements.ts'
import { leftOutError, roleBefore } from '../logs/returned.ts'

const all = () => true
const nobody = () => false

const notMember = () => new AppError('not_found', 'The connection has no member with this id.')

const notOwner = () =>
  new AppError('forbidden', 'Only an owner of the connection may do this. Ask one of them.')

const lastOwner = () =>
  new AppError(
    'invalid_state',
    'You are the only owner. Make another member an owner ("countersignd connection role"), or delete the connection, which ends it for all members.',
    { details: { state: 'last_owner' } },
  )

const memberOf = ({ members }: Roster, account: string): RosterMember | undefined =>
  members.find((one) => one.account === account)

const ownersOf = ({ members }: Roster) => members.filter(({ role }) => role === 'owner')

/**
 * Requires that an account is an owner.
 * @throws AppError forbidden
 */
function requireOwner(roster: Roster, account: string): void {
  if (memberOf(roster, account)?.role !== 'owner') throw notOwner()
}

/** Checks whether an invitation expired, or whether its account left after it was made. */
function isOver(device: Signing, roster: Roster, of: { target: string; member: string }): boolean {
  const row = device.state.invites.get(roster.connection, of.target)
  if (row === null || row.until <= device.now()) return true
  return goneSince(roster, of.member, row.seq).length > 0
}

/**
 * Adds an account that approved an invitation of this device.
 *
 * The entry contains the account's consent and names the newest entry of the account's key log. The
 * secret is sealed to the account's devices. Does nothing if this device lacks the secret or the
 * right to add members. A member of a forked connection joins its replacement with its role from
 * before the fork. If a history that was fetched later shows that the account left, the user must
 * invite it.
 * @param of `target` is the key under which this device stored the invitation, which is deleted
 *   when it was used
 * @returns the number of devices to which the secret was sealed
 * @throws AppError as `continueRoster` and `requireKeysOfSession` do, and invalid_state if the
 *   account left in another history; Refusal if a key log or a consent breaks a rule
 */
export async function addInvited(
  device: Signing,
  account: Account,
  of: { connection: string; member: string; target: string; consent: string },
): Promise<number> {
  const { connection, member, target, consent } = of
  const { invites } = device.state
  const pulled = await pullKeyLog(device, account, member)
  const own = device.identity.account
  const next = ({ roster, keyLogs }: KnownRoster, signer: Signer, holds: boolean): Next | null => {
    // Fetching the roster may have added entries to the stored key log.
    const log = newestOf(device.state, pulled)
    requireLooked(device.state, log, false)
    const memberLog = { seq: log.seq, head: log.head }
    if (isOver(device, roster, { target, member })) {
      invites.delete(connection, target)
      return null
    }
    const may =
      memberOf(roster, own)?.role === 'owner' &&
      holds &&
      !presentMembers(device.state, roster).rotationPending
    if (!may || memberOf(roster, member) !== undefined) return null
    const before = membershipBefore(device.state, roster, member)
    if (before !== null) requireKeysOfSession(device.state, before)
    const logs = new Map(keyLogs).set(member, log)
    const had = roleBefore(device.state, roster, member)
    if (had === null && invites.get(connection, target)?.invitation === null) {
      // The row was created with the replacement, so no user decided to invite this account.
      invites.delete(connection, target)
      throw leftOutError(device.state, connection, member)
    }
    // An account that left or was removed returns as a member, even if it created the connection.
    const role = goneSince(roster, member, 0).length === 0 ? (had ?? 'member') : 'member'
    const what = { member, memberLog, role, consent } as const
    const entry = unlessStale(() => addMember({ roster, keyLogs: logs, ...what, ...signer }))
    return { entry, k: null, to: (one) => one === member, newcomer: log }
  }
  const { roster, sealed } = await changeRoster(device, account, connection, next)
  // A row that was kept would add the account again after an owner removed it.
  if (memberOf(roster, member) !== undefined) invites.delete(connection, target)
  return sealed
}

/**
 * Converts a Refusal of a consent to invalid_state with `state` consent_refused.
 *
 * A consent can become invalid without a fault of the account server: its device was revoked
 * meanwhile, or it names an entry that the roster does not have.
 */
function unlessStale(add: () => string): string {
  return onRefusal(
    add,
    (cause) =>
      new AppError(
        'invalid_state',
        `An approval of an invitation is not valid (${cause.reason}), so the invited account was not added. Ask the invited person to approve the invitation again, or send a new invitation.`,
        { details: { state: 'consent_refused' }, cause },
      ),
  )
}

/**
 * Removes a member. The remaining members get a new secret.
 * @throws AppError not_found, forbidden, and as `continueRoster` does
 */
export async function remove(
  device: Signing,
  account: Account,
  connection: string,
  member: string,
): Promise<void> {
  await changeRoster(device, account, connection, ({ roster, keyLogs }, signer) => {
    if (memberOf(roster, member) === undefined) throw notMember()
    requireOwner(roster, signer.actor)
    // A removed account returns only by a new invitation.
    device.state.invites.delete(connection, member)
    const k = newSecret()
    return { entry: removeMember({ roster, keyLogs, member, k, ...signer }), k, to: all }
  })
}

/**
 * Makes a member an owner, or an owner a member.
 * @throws AppError as `remove` does, and invalid_state for the last owner
 */
export async function setRole(
  device: Signing,
  account: Account,
  connection: string,
  { member, role }: { member: string; role: RosterRole },
): Promise<Connection> {
  const after = await changeRoster(device, account, connection, ({ roster, keyLogs }, signer) => {
    const there = presentMembers(device.state, roster)
    const found = memberOf(there, member)
    if (found === undefined) throw notMember()
    requireOwner(roster, signer.actor)
    if (found.role === role) return null
    if (role === 'member' && ownersOf(there).length === 1) throw lastOwner()
    return { entry: changeRole({ roster, keyLogs, member, role, ...signer }), k: null, to: nobody }
  })
  return after.connection
}

function rotation({ roster, keyLogs }: KnownRoster, signer: Signer): Next {
  const k = newSecret()
  return { entry: rotate({ roster, keyLogs, k, ...signer }), k, to: all }
}

/**
 * Gives a connection a new secret.
 * @throws AppError as `continueRoster` does
 */
export const rotateNow = async (
  device: Signing,
  account: Account,
  connection: string,
): Promise<Connection> => (await changeRoster(device, account, connection, rotation)).connection

/**
 * Rotates the secret if that is due.
 *
 * A rotation is due immediately after a member left or a device of this account was revoked. After
 * a revocation of another member's device, it is due when the wait is over.
 * @returns the number of devices to which the secret was sealed
 * @throws AppError as `continueRoster` does
 */
export async function rotateIfDue(
  device: Signing,
  account: Account,
  connection: string,
  waits: RotationWaits,
): Promise<number> {
  const { sealed } = await changeUnasked(device, account, connection, (known, signer) => {
    const there = presentMembers(device.state, known.roster)
    const others = holdersOf(there, known.keyLogs)
      .filter((one) => one.account !== signer.actor)
      .map((one) => ({ account: one.account, cause: `revocation ${one.revocation}` as const }))
    noteHoldUps(device.state, connection, others, device.now())
    const due = rotationDue(there, known.keyLogs, signer.actor)
    const isDue = due === 'now' || (due === 'later' && waits.isOver(known.roster))
    return isDue ? rotation(known, signer) : null
  })
  return sealed
}

/**
 * Rotates if the entry that began the epoch has a row that does not match this account's key log.
 *
 * Because of that row, this device did not get the secret. Each rotation adds an entry, so if a
 * member begins more than three such epochs in a day, this device stops rotating. The user can then
 * ask an owner to remove the member.
 * @returns the number of devices to which the secret was sealed
 * @throws AppError as `continueRoster` does
 */
export async function rotateForRow(
  device: Signing,
  account: Account,
  connection: string,
): Promise<number> {
  const { sealed } = await changeUnasked(device, account, connection, (known, signer, holds) => {
    const { epoch, unfit } = known.roster
    if (holds || !unfit.includes(signer.actor)) return null
    const opener = openerOf(known.roster)
    const cause = `epoch ${epoch}` as const
    noteHoldUps(device.state, connection, [{ account: opener, cause }], device.now())
    const isFrequent = frequentHolders(device.state, connection, device.now()).includes(opener)
    return isFrequent ? null : rotation(known, signer)
  })
  return sealed
}

/**
 * Rotates the secret unless a newer epoch exists or the connection is suspended.
 * @returns the number of devices to which the secret was sealed
 * @throws AppError as `continueRoster` does
 */
export async function rotateRoutinely(
  device: Signing,
  account: Account,
  { connection, epoch }: { connection: string; epoch: number },
): Promise<number> {
  const { sealed } = await changeUnasked(device, account, connection, (known, signer) => {
    const there = presentMembers(device.state, known.roster)
    return there.epoch === epoch && !isHeld(there, known.keyLogs) ? rotation(known, signer) : null
  })
  return sealed
}

/**
 * Leaves a connection, deletes it, or ends it.
 *
 * If the roster has no other members, the connection is deleted. If an owner ended it, it is only
 * removed from this account's list. Whether `leave` or `end` is signed depends only on the roster,
 * never on the deleted members that the account server reports.
 * @param asLastOwner what to do if this account is the only owner among other members: `stay`
 *   throws, `end` signs the end of the connection for all members
 * @returns `left` if the roster must stay stored, so that no server can present an older one later;
 *   `ended` if no other account was ever in it
 * @throws AppError invalid_state with `stay` for the last owner, also if the account server reports
 *   all other owners as deleted; and as `continueRoster` does
 */
export async function leaveOrEnd(
  device: Signing,
  account: Account,
  connection: string,
  asLastOwner: 'stay' | 'end' = 'stay',
): Promise<'left' | 'ended'> {
  requireCompleteLog(device, connection)
  const { roster: newest } = await readRoster(device, account, connection)
  if (memberOf(newest, device.identity.account) === undefined) return 'left'
  if (newest.ended || newest.members.length === 1) {
    await account.connections.delete({ id: connection })
    return accountsInRoster(newest.entries).length === 1 ? 'ended' : 'left'
  }
  await continueRoster(device, account, connection, ({ roster, keyLogs }, signer) => {
    const isOwner = memberOf(roster, signer.actor)?.role === 'owner'
    const isLastOf = (those: Roster) => isOwner && ownersOf(those).length === 1
    if (asLastOwner === 'stay' && isLastOf(presentMembers(device.state, roster))) throw lastOwner()
    const sign = isLastOf(roster) ? endConnection : leave
    return { entry: sign({ roster, keyLogs, ...signer }), k: null, to: nobody }
  })
  return 'left'
}

/**
 * Signs that a member's new keys, which the user confirmed, replace the previous keys.
 *
 * The confirmation is stored as an invitation, so that a sync repeats this after a crash.
 * @returns the number of devices to which the secret was sealed
 * @throws AppError forbidden, invalid_state if the member has other keys now, and as
 *   `continueRoster` does
 */
export async function confirmMemberKeys(
  device: Signing,
  account: Account,
  { connection, member }: { connection: string; member: string },
): Promise<number> {
  const { invites } = device.state
  const pulled = await pullKeyLog(device, account, member)
  const { sealed } = await changeRoster(device, account, connection, (known, signer) => {
    const { roster } = known
    const log = newestOf(device.state, pulled)
    requireLooked(device.state, log, true)
    const keyLogs = new Map(known.keyLogs).set(member, log)
    const isDue = unconfirmedMembers(roster, keyLogs).includes(member)
    if (!isDue || isOver(device, roster, { target: member, member })) return null
    if (memberOf(roster, signer.actor)?.role !== 'owner') {
      invites.delete(connection, member)
      throw notOwner()
    }
    const k = newSecret()
    const entry = confirmMember({ roster, keyLogs, member, memberLog: log, k, ...signer })
    return { entry, k, to: all, newcomer: log }
  })
  invites.delete(connection, member)
  return sealed
}
