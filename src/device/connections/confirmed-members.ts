/** Updates connections after the user has confirmed the new keys of an account. */
import type { Account } from '../../api/port.ts'
import { unconfirmedMembers } from '../../crypto/logs/roster.ts'
import { newInvite } from './invites.ts'
import { confirmMemberKeys } from './members.ts'
import type { Signing } from './roster-entries.ts'
import { rememberedRoster } from '../logs/roster-cache.ts'

/**
 * Confirms an account's new keys in each connection of which this account is an owner.
 *
 * This concerns connections in which all devices of the other account were replaced by keys that
 * no owner has confirmed.
 * @returns the number of connections
 * @throws AppError as `confirmKeys` does; the next sync completes the rest
 */
export async function confirmSeats(
  device: Signing,
  account: Account,
  member: string,
): Promise<number> {
  const { state, identity } = device
  const mine = state.connections.withMember(member).filter((id) => {
    const known = rememberedRoster(state, id)
    if (known === null || !unconfirmedMembers(known.roster, known.keyLogs).includes(member))
      return false
    return known.roster.members.some(
      (one) => one.account === identity.account && one.role === 'owner',
    )
  })
  for (const id of mine) state.invites.put(newInvite(device, id, member, true))
  for (const id of mine) await confirmMemberKeys(device, account, { connection: id, member })
  return mine.length
}
