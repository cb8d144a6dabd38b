/**
 * Stores that another account's keys are confirmed, and applies the consequences on this device.
 */
import type { Account } from '../../api/port.ts'
import type { TrustCard } from '../../api/rest/trust-cards.ts'
import { unconfirmedMembers } from '../../crypto/logs/roster.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import type { TrustRow } from '../../state/trust.ts'
import { newInvite } from '../connections/invites.ts'
import { confirmMemberKeys } from '../connections/members.ts'
import type { Signing } from '../connections/roster-entries.ts'
import type { DeviceContext } from '../context.ts'
import { judgeHolds } from '../logs/connection-record.ts'
import { rememberedRoster } from '../logs/roster-cache.ts'
import { examine, rejudged } from './trust-keys.ts'

/**
 * Stores that an account's keys are confirmed.
 *
 * Also confirms the keys in the connections that the own account owns, and updates which
 * connections are suspended.
 * @param generation the confirmed generation of keys; the default is the newest that this device
 *   has seen
 */
export async function confirmKeys(
  device: DeviceContext,
  account: Account,
  row: TrustRow,
  generation = row.newest,
): Promise<TrustRow> {
  const looked = { pinned: generation, confirmed: true, recovered_at: null, key_unused: false }
  const pinned = { ...row, ...looked }
  // Later keys also count as confirmed if the recovery key links them to this generation.
  const confirmed = generation === row.newest ? pinned : rejudged(device, pinned)
  device.state.transaction(() => {
    // The name that the account has signed becomes the confirmed name.
    device.state.names.confirm(row.account)
    device.state.trust.confirm(confirmed)
  })
  try {
    await confirmSeats(device, account, row.account)
  } catch (error) {
    if (!(error instanceof AppError || error instanceof Refusal)) throw error
    // The next sync repeats the failed step.
    device.syncSoon()
  }
  judgeHolds(device, row.account)
  return confirmed
}

/**
 * Returns an account's trust card. Creates it if there is none.
 * @throws AppError for any error from the account server
 */
async function cardOf(account: Account, id: string): Promise<TrustCard> {
  try {
    return await account.trustCards.create({ body: { user_id: id } })
  } catch (error) {
    const isThere = error instanceof AppError && error.details.state === 'followed'
    if (!isThere) throw error
    return account.trustCards.update({ id, body: {} })
  }
}

/**
 * Confirms an account's trust card with a key log that was verified without the account server.
 * Repeating it changes nothing.
 * @param generation the generation of keys in the verified log; a later generation stays unverified
 * @throws AppError for any error from the account server
 */
export async function confirmCard(
  device: DeviceContext,
  account: Account,
  { id, generation }: { id: string; generation: number },
): Promise<void> {
  const { display_name } = await cardOf(account, id)
  device.requireSession()
  device.state.names.pin(id, display_name)
  const row = await examine(device, account, id)
  await account.trustCards.update({ id, body: { confirmed: true } })
  device.requireSession()
  await confirmKeys(device, account, row, generation)
}

/**
 * Confirms an account's new keys in each connection of which the own account is an owner.
 *
 * Only connections count in which the other account's membership has keys that no owner has
 * confirmed.
 * @returns the number of connections
 * @throws AppError as `confirmMemberKeys` does; the next sync completes the remaining connections
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
