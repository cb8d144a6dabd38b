/**
 * Whom this device invited, as it remembers it: whoever else the account server says was invited, it takes in nobody. An invitation
 * serves once, for a while, and for who was not removed since.
 */
import type { Account } from '../../api/port.ts'
import type { Invitee } from '../../api/rest/connections.ts'
import type { Invitation } from '../../api/rest/invitations.ts'
import { LONGEST_INVITATION_S } from '../../api/rest/presets.ts'
import { isRefusal } from '../../storage/idempotency.ts'
import type { Invite } from '../../state/invites.ts'
import type { DeviceContext } from '../context.ts'

type Inviting = Pick<DeviceContext, 'state' | 'now' | 'demandSeat'>

/** Under what this device remembers whom it invited. */
export const targetOf = (invitee: Invitee): string =>
  'email' in invitee ? invitee.email.toLowerCase() : invitee.user_id

const DAY_MS = 24 * 3_600_000

/** An account server ends an invitation sooner, and gives whoever approved at its end one day; this is for one that says it did not. */
const GOOD_MS = LONGEST_INVITATION_S * 1000 + DAY_MS

/** The new keys of a member are confirmed without asking them: there is no answer to wait for. */
const AGAIN_MS = 15 * DAY_MS

/**
 * What this device remembers of an invitation to a connection as it knows it now.
 * @param again see `Invite`
 */
export const newInvite = (
  { state, now }: Inviting,
  connection: string,
  target: string,
  again = false,
): Invite => ({
  connection,
  target,
  invitation: null,
  again,
  seq: state.logs.head('roster', connection)?.seq ?? 0,
  until: now() + (again ? AGAIN_MS : GOOD_MS),
})

/**
 * Invite somebody. This device remembers it before the account server hears of it: an approval of an invitation that it does not know
 * takes nobody in.
 * @throws AppError what the account throws
 */
export async function invite(
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
    device.demandSeat()
    // Anew: meanwhile a sync may have been told of an earlier one to the same that is over.
    invites.put({ ...row, invitation: made.id })
    return made
  } catch (error) {
    if (isRefusal(error) && before === null) invites.delete(connection, target)
    throw error
  }
}

/** Whether the account server speaks of an invitation that is remembered: by its id, where that is known. */
const isOf = (
  { invitation, connection, target }: Invite,
  { id, connection_id, to }: Invitation,
): boolean =>
  invitation === null
    ? connection_id === connection && [to.user_id, to.email?.toLowerCase()].includes(target)
    : invitation === id

/** Forget the invitations that are over, of which the account server says so or not. Throws AppError what the account throws. */
export async function dropEnded({ state, now }: Inviting, account: Account): Promise<void> {
  const { invites } = state
  invites.dropOld(now())
  const kept = invites.all().filter(({ again }) => !again)
  if (kept.length === 0) return
  const { sent } = await account.invitations.list({})
  for (const row of kept) {
    const { connection, target } = row
    const same = sent.filter((one) => isOf(row, one))
    const isLive = same.some(({ state: is }) => is === 'pending' || is === 'approved')
    // One that was made while the account server answered is not in its answer.
    const found = invites.get(connection, target)
    const isSame = found?.invitation === row.invitation && found.until === row.until
    if (same.length > 0 && !isLive && isSame) invites.delete(connection, target)
  }
}

/**
 * Take invitations back. This device forgets them before the account server hears of it, and remembers them again where the account
 * server refuses.
 * @param rows the invitations as they are remembered
 * @param work tells the account server
 */
async function takenBack<T>(
  { state: { invites }, demandSeat }: Inviting,
  rows: readonly Invite[],
  work: () => Promise<T>,
): Promise<T> {
  for (const { connection, target } of rows) invites.delete(connection, target)
  try {
    return await work()
  } catch (error) {
    demandSeat()
    if (isRefusal(error)) for (const row of rows) invites.put(row)
    throw error
  }
}

/** Withdraw an invitation. Throws AppError what the account throws. */
export async function withdraw(
  device: Inviting,
  account: Account,
  id: string,
): Promise<Invitation> {
  const rows = device.state.invites.all()
  const known = rows.filter(({ invitation }) => invitation === id)
  // One that was made together with its connection has no id here.
  const { sent } = known.length > 0 ? { sent: [] } : await account.invitations.list({})
  const named = sent.filter((one) => one.id === id)
  const theirs = rows.filter((row) => named.some((one) => isOf(row, one)))
  return takenBack(device, [...known, ...theirs], () => account.invitations.withdraw({ id }))
}

/**
 * Withdraw what invites somebody to a connection, by account or by mailbox.
 * @param of `mid`: the id of the account or of the invitation to a mailbox, as the members have it
 * @throws AppError what the account throws
 */
export async function uninvite(
  device: Inviting,
  account: Account,
  { id, mid }: { id: string; mid: string },
): Promise<void> {
  const { sent } = await account.invitations.list({})
  // To which account a mailbox belongs, the account server alone knows.
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
