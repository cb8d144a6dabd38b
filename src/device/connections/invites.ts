/**
 * Stores which accounts and mailboxes this device invited to connections.
 *
 * The device adds an account only for a stored invitation, never for one that the account server
 * claims. An invitation can be used once, for a limited time, and only if its account was not
 * removed since.
 */
import type { Account } from '../../api/port.ts'
import type { Invitee } from '../../api/rest/connections.ts'
import type { Invitation } from '../../api/rest/invitations.ts'
import { LONGEST_INVITATION_S } from '../../api/rest/presets.ts'
import { isRefusal } from '../../storage/idempotency.ts'
import type { PendingInvite } from '../../state/invitations.ts'
import type { DeviceContext } from '../context.ts'

type Inviting = Pick<DeviceContext, 'state' | 'now' | 'requireSession'>

/**
 * Returns the key under which an invitation is stored: a mailbox in lower case, or an account id.
 */
export const targetOf = (invitee: Invitee): string =>
  'email' in invitee ? invitee.email.toLowerCase() : invitee.user_id

const DAY_MS = 24 * 3_600_000

/**
 * How long an invitation is stored, in milliseconds.
 *
 * An honest account server ends the invitation earlier, and gives one more day to an account that
 * approved shortly before the end. This limit protects against a dishonest server.
 */
const GOOD_MS = LONGEST_INVITATION_S * 1000 + DAY_MS

/**
 * How long a confirmation of a member's new keys is stored, in milliseconds. The member need not
 * respond.
 */
const AGAIN_MS = 15 * DAY_MS

/**
 * Returns the row of a new invitation to a connection, with the newest stored roster entry's seq.
 * @param again see `PendingInvite`
 */
export const newInvite = (
  { state, now }: Inviting,
  connection: string,
  target: string,
  again = false,
): PendingInvite => ({
  connection,
  target,
  invitation: null,
  again,
  seq: state.logs.head('roster', connection)?.seq ?? 0,
  until: now() + (again ? AGAIN_MS : GOOD_MS),
})

/**
 * Invites an account or a mailbox.
 *
 * The row is stored before the request is sent, because this device adds no account without a
 * stored invitation.
 * @throws AppError for any error from the account server
 */
export async function inviteMembers(
  device: Inviting,
  account: Account,
  connection: string,
  invitee: Invitee,
): Promise<Invitation> {
  const { invites } = device.state
  const target = targetOf(invitee)
  const before = invites.get(connection, target)
  const row = newInvite(device, connection, target)
  invites.put(row)
  try {
    const made = await account.members.add({ id: connection, body: invitee })
    device.requireSession()
    // Stored again, because a sync may have deleted the row of an earlier invitation that has
    // ended.
    invites.put({ ...row, invitation: made.id })
    return made
  } catch (error) {
    if (isRefusal(error) && before === null) invites.delete(connection, target)
    throw error
  }
}

/** Checks whether a listed invitation belongs to a stored row: by its id, if the row has one. */
const isOf = (
  { invitation, connection, target }: PendingInvite,
  { id, connection_id, to }: Invitation,
): boolean =>
  invitation === null
    ? connection_id === connection && [to.user_id, to.email?.toLowerCase()].includes(target)
    : invitation === id

/**
 * Deletes the rows of invitations that have expired or that the account server lists as ended.
 * Stores the names of the accounts that approved one, so that events about them have a name.
 * @throws AppError for any error from the account server
 */
export async function dropEnded({ state, now }: Inviting, account: Account): Promise<void> {
  const { invites, names } = state
  invites.dropOld(now())
  const known = invites.all().filter(({ again }) => !again)
  if (known.length === 0) return
  const { sent } = await account.invitations.list({})
  for (const row of known) {
    const { connection, target } = row
    const same = sent.filter((one) => isOf(row, one))
    for (const { state: is, to } of same)
      if (is === 'approved' && to.user_id !== null && to.display_name !== null)
        names.pin(to.user_id, to.display_name)
    const isLive = same.some(({ state: is }) => is === 'pending' || is === 'approved')
    // The response does not include an invitation that was created while the request ran.
    const found = invites.get(connection, target)
    const isSame = found?.invitation === row.invitation && found.until === row.until
    if (same.length > 0 && !isLive && isSame) invites.delete(connection, target)
  }
}

/**
 * Deletes rows and then runs the request that ends their invitations.
 *
 * If the account server rejects the request, the rows are stored again.
 * @param rows the stored invitations
 * @param work sends the request
 */
async function takenBack<T>(
  { state: { invites }, requireSession }: Inviting,
  rows: readonly PendingInvite[],
  work: () => Promise<T>,
): Promise<T> {
  for (const { connection, target } of rows) invites.delete(connection, target)
  try {
    return await work()
  } catch (error) {
    requireSession()
    if (isRefusal(error)) for (const row of rows) invites.put(row)
    throw error
  }
}

/**
 * Withdraws an invitation.
 * @throws AppError for any error from the account server
 */
export async function withdrawInvite(
  device: Inviting,
  account: Account,
  id: string,
): Promise<Invitation> {
  const rows = device.state.invites.all()
  const known = rows.filter(({ invitation }) => invitation === id)
  // If an invitation was created together with its connection, its row has no id.
  const { sent } = known.length > 0 ? { sent: [] } : await account.invitations.list({})
  const named = sent.filter((one) => one.id === id)
  const theirs = rows.filter((row) => named.some((one) => isOf(row, one)))
  return takenBack(device, [...known, ...theirs], () => account.invitations.withdraw({ id }))
}

/**
 * Withdraws the invitations of an account or a mailbox to a connection.
 * @param of `mid` is the account id, or the id of the invitation to a mailbox, as the list of
 *   members has it
 * @throws AppError for any error from the account server
 */
export async function uninvite(
  device: Inviting,
  account: Account,
  { id, mid }: { id: string; mid: string },
): Promise<void> {
  const { sent } = await account.invitations.list({})
  // Only the account server can map a mailbox to an account.
  const theirs = sent.filter(
    (one) => one.connection_id === id && [one.id, one.to.user_id].includes(mid),
  )
  const rows = device.state.invites
    .all()
    .filter(
      (row) =>
        (row.connection === id && row.target === mid) || theirs.some((one) => isOf(row, one)),
    )
  await takenBack(device, rows, () => account.members.remove({ id, mid }))
}
