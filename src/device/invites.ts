/**
 * Whom this device invited, as it remembers it: whoever else the account server says was invited, it takes in nobody. An invitation
 * serves once, for a while, and for who was not removed since.
 */
import type { Account } from '../api/port.ts'
import type { Invitee } from '../api/rest/connections.ts'
import type { Invitation } from '../api/rest/invitations.ts'
import { isRefusal } from '../state/idempotency.ts'
import type { Invite } from '../state/invites.ts'
import type { State } from '../state/state.ts'
import type { Device } from './device.ts'

type Inviting = Pick<Device, 'state' | 'now'>

/** Under what this device remembers whom it invited. */
export const targetOf = (invitee: Invitee): string =>
  'email' in invitee ? invitee.email.toLowerCase() : invitee.user_id

/** An account server ends an invitation sooner; this is for one that says it did not. */
const GOOD_MS = 15 * 24 * 3_600_000

/** What this device remembers of an invitation to a connection as it knows it now. */
export const newInvite = (
  { state, now }: Inviting,
  connection: string,
  target: string,
): Invite => ({
  connection,
  target,
  again: false,
  seq: state.logs.head('roster', connection)?.seq ?? 0,
  until: now() + GOOD_MS,
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
  invites.put(newInvite(device, connection, target))
  try {
    return await account.members.add({ id: connection, body: invitee })
  } catch (error) {
    if (isRefusal(error) && before === null) invites.delete(connection, target)
    throw error
  }
}

/** Forget the invitations that are over, of which the account server says so or not. Throws AppError what the account throws. */
export async function dropEnded({ state, now }: Inviting, account: Account): Promise<void> {
  const kept = state.invites.all().filter(({ again }) => !again)
  if (kept.length === 0) return
  const { sent } = await account.invitations.list({})
  for (const { connection, target, until } of kept) {
    const same = sent.filter(
      ({ connection_id, to }) =>
        connection_id === connection && [to.user_id, to.email?.toLowerCase()].includes(target),
    )
    const isLive = same.some(({ state: is }) => is === 'pending' || is === 'approved')
    if (until <= now() || (same.length > 0 && !isLive)) state.invites.delete(connection, target)
  }
}

/** Forget that somebody was invited. */
export function forgetInvite(state: State, { connection_id, to }: Invitation): void {
  for (const target of [to.user_id, to.email?.toLowerCase()])
    if (target != null) state.invites.delete(connection_id, target)
}
