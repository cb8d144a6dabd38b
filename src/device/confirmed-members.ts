/** What follows for connections when a person has confirmed the new keys of somebody. */
import type { Account } from '../api/port.ts'
import { changedMembers } from '../crypto/roster-v1.ts'
import { newInvite } from './invites.ts'
import { takeInAnew } from './members.ts'
import type { Signing } from './roster-entries.ts'
import { rememberedRoster } from './remembered.ts'

/**
 * Take an account in anew wherever this account is an owner and its keys were replaced since it was taken in.
 * @returns how many connections that were
 * @throws AppError as `takeInAnew` does; what is not done then, the next sync does
 */
export async function takeInConfirmed(
  device: Signing,
  account: Account,
  member: string,
): Promise<number> {
  const { state, identity } = device
  const mine = state.connections.withMember(member).filter((id) => {
    const known = rememberedRoster(state, id)
    if (known === null || !changedMembers(known.roster, known.keyLogs).includes(member))
      return false
    return known.roster.members.some(
      (one) => one.account === identity.account && one.role === 'owner',
    )
  })
  for (const id of mine) state.invites.put(newInvite(device, id, member, true))
  for (const id of mine) await takeInAnew(device, account, { connection: id, member })
  return mine.length
}
