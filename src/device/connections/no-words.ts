/**
 * Explains why a connection has no words to say, and which account or device must act.
 *
 * The reason comes from the verified roster and key logs. Only the names of this account's own
 * devices come from the account server.
 */
import { inQuotes } from '../../api/name-text.ts'
import { connectionEnded } from '../../api/connection-ended.ts'
import { every } from '../../api/cursor.ts'
import type { Account } from '../../api/port.ts'
import { type Roster, heldMembers, unconfirmedMembers } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import { presentMembers } from '../logs/deleted-members.ts'
import type { DeviceContext } from '../context.ts'
import { frequentHolders } from '../logs/hold-ups.ts'
import { isDoubted } from '../logs/reviewed-keys.ts'
import { nameOf } from '../names.ts'
import { type KnownRoster, rememberedRoster } from '../logs/roster-cache.ts'
import { forkedError } from '../logs/replacements.ts'
import { cameBack, returnedIn } from '../logs/returned.ts'

type Asking = Pick<DeviceContext, 'state' | 'identity' | 'now'>

const invalidState = (
  state: 'rotation_pending' | 'changed_unverified' | 'member_returned',
  message: string,
) => new AppError('invalid_state', message, { details: { state } })

/** Returns a hint about members who repeatedly suspend the connection, or an empty string. */
function heldUpBy({ state, identity, now }: Asking, known: KnownRoster | null, id: string): string {
  const called = namesIn({ state, identity, now }, id)
  const isMine = known !== null && isOwner(known.roster, identity.account)
  return frequentHolders(state, id, now())
    .map((account) => {
      const remove = `"countersignd connection remove-member ${id} ${account}"`
      const how = isMine ? `${remove} removes them` : 'an owner can remove them'
      return ` ${inQuotes(called(account))} has suspended the connection more than three times in a day: ${how}.`
    })
    .join('')
}

const neverAccepted = (name: string) =>
  new AppError(
    'secret_unavailable',
    `Data from the account server for ${inQuotes(name)} was refused, so this device has no words for it. "countersignd sync" fetches the data again, and shows the reason if it is refused again.`,
  )

const rotationPending = (id: string, more: string) =>
  invalidState(
    'rotation_pending',
    `A member left this connection, or revoked or signed out a device, so no words can be checked until the connection has a new secret. "countersignd sync" creates or fetches the new secret. The devices of that member create it immediately, the devices of other members within ten minutes. "countersignd rotate ${id}" creates it now.${more}`,
  )

/** Joins names: "a", "b" or "c". */
const anyOf = (names: readonly string[]): string => {
  const quoted = names.map(inQuotes)
  const last = quoted.pop() ?? ''
  return quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`
}

function namesIn({ state, identity }: Asking, connection: string) {
  const members = state.connections.get(connection)?.members ?? []
  return (account: string): string => {
    const member = members.find(({ user_id }) => user_id === account)
    const fromServer = member?.display_name ?? account
    return nameOf({ state, own: identity.account }, account, fromServer).display_name
  }
}

const isOwner = ({ members }: Roster, account: string) =>
  members.some((one) => one.account === account && one.role === 'owner')

/** Returns the commands with which the user confirms the keys of another account. */
const confirming = ({ trust }: State, account: string): string => {
  const confirm = `compare the safety number, then "countersignd trust confirm ${account}"`
  return trust.get(account) === null
    ? `"countersignd trust follow ${account}", ${confirm}`
    : confirm
}

/** Returns the names of the owners who can confirm new keys. */
function ownersWhoConfirm(device: Asking, { roster, keyLogs }: KnownRoster): string[] {
  const called = namesIn(device, roster.connection)
  const unconfirmed = unconfirmedMembers(roster, keyLogs)
  return roster.members
    .filter(({ account, role }) => role === 'owner' && !unconfirmed.includes(account))
    .filter(({ account }) => keyLogs.get(account)?.active.length !== 0)
    .map(({ account }) => called(account))
}

/** Returns the sentence that names who has to confirm the new keys of an account. */
function ownersConfirm(owners: readonly string[], account: string, keys: string): string {
  return owners.length === 0
    ? `An owner has to confirm ${keys} first, but no owner is left. Leave the connection and create a new connection.`
    : `${anyOf(owners)} has to confirm ${keys} first: compare the safety number, then run "countersignd trust confirm ${account}" on a device of that owner.`
}

/** Returns the sentence that asks the user to confirm the new keys of a member. */
function youConfirm(device: Asking, { roster }: KnownRoster, account: string): string {
  const { state, identity } = device
  const name = inQuotes(namesIn(device, roster.connection)(account))
  const remove = `"countersignd connection remove-member ${roster.connection} ${account}"`
  const orRemove = isOwner(roster, identity.account) ? ` Or remove them: ${remove}.` : ''
  return `You have to confirm the new keys of ${name} first: ${confirming(state, account)}.${orRemove}`
}

/**
 * Returns the error if a member replaced all devices since the epoch began; otherwise null.
 *
 * A rotation would not give the new devices the secret, because an owner must first confirm their
 * keys.
 */
function memberUnconfirmed(device: Asking, known: KnownRoster): AppError | null {
  const { roster, keyLogs } = known
  const own = device.identity.account
  const suspending = heldMembers(roster, keyLogs)
  const unconfirmed = unconfirmedMembers(roster, keyLogs)
  const account = unconfirmed.find((one) => suspending.includes(one))
  if (account === undefined) return null
  const name = inQuotes(namesIn(device, roster.connection)(account))
  const confirm = isOwner(roster, own)
    ? youConfirm(device, known, account)
    : ownersConfirm(ownersWhoConfirm(device, known), account, `the new keys of ${name}`)
  const others = roster.members.filter((one) => !unconfirmed.includes(one.account))
  const without =
    others.length > 1
      ? ` Without a confirmation, the other members get a new secret within ten minutes ("countersignd rotate ${roster.connection}" creates it now), and ${name} gets no secret.`
      : ''
  return invalidState('changed_unverified', `${confirm}${without}`)
}

/** Returns the error if an owner or this user must decide about keys; otherwise null. */
function decisionDue(device: Asking, known: KnownRoster): AppError | null {
  const { state, identity } = device
  const { roster, keyLogs } = known
  const own = identity.account
  if (unconfirmedMembers(roster, keyLogs).includes(own))
    return invalidState(
      'changed_unverified',
      ownersConfirm(ownersWhoConfirm(device, known), own, 'your new keys'),
    )
  const [returned] = returnedIn(state, own, roster)
  if (returned !== undefined)
    return invalidState('member_returned', cameBack(state, roster.connection, returned))
  const doubted = roster.members.find((one) => one.account !== own && isDoubted(state, one))
  if (doubted !== undefined)
    return invalidState('changed_unverified', youConfirm(device, known, doubted.account))
  return memberUnconfirmed(device, known)
}

/** Returns the names of this account's other signed-in devices. */
async function otherDevices(account: Account): Promise<string[]> {
  const devices = await every((query) => account.devices.list(query))
  return devices
    .filter(({ state, current }) => state === 'active' && !current)
    .map(({ name }) => name)
}

/** Returns the error that names the devices that can seal the missing secret to this device. */
async function waiting(device: Asking, account: Account, id: string, known: KnownRoster | null) {
  const { state, identity } = device
  const called = namesIn(device, id)
  const { name } = await account.connections.read({ id })
  const own = await otherDevices(account)
  const others = (state.connections.get(id)?.members ?? [])
    .filter(({ user_id }) => user_id !== identity.account)
    .map(({ user_id }) => called(user_id))
  const who = [
    ...(own.length === 0 ? [] : [`your device ${anyOf(own)}`]),
    ...(others.length === 0 ? [] : [`a device of ${anyOf(others)}`]),
  ]
  const rotate = `"countersignd rotate ${id}" creates a new secret`
  const more = heldUpBy(device, known, id)
  return new AppError(
    'secret_unavailable',
    who.length === 0
      ? `No other device has the words for ${inQuotes(name)}: ${rotate}.${more}`
      : `Waiting for ${who.join(' or ')} to hand over the words for ${inQuotes(name)}. Sync there ("countersignd sync"), then here. If no device has them any more, ${rotate}.${more}`,
  )
}

/**
 * Returns the error for a connection for which this device has no words to say.
 * @returns invalid_state with `state` changed_unverified, member_returned, rotation_pending,
 *   roster_forked or ended; or secret_unavailable. The message names who must act.
 * @throws AppError not_found if the account has no such connection, and any error from the account
 *   server
 */
export async function noWords(device: Asking, account: Account, id: string): Promise<AppError> {
  const row = device.state.connections.get(id)
  const hold = row?.hold ?? null
  if (hold === 'roster_forked') return forkedError(device.state, device.identity.account, id)
  if (hold === 'ended') return connectionEnded()
  if (row?.epoch === 0) return neverAccepted(row.name)
  const known = rememberedRoster(device.state, id)
  const due =
    known === null
      ? null
      : decisionDue(device, { ...known, roster: presentMembers(device.state, known.roster) })
  if (due !== null) return due
  if (hold === null) return waiting(device, account, id, known)
  return rotationPending(id, heldUpBy(device, known, id))
}
