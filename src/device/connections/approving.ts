/** Approves an invitation, and stores its consequences on this device. */
import type { Account } from '../../api/port.ts'
import type { Invitation } from '../../api/rest/invitations.ts'
import { giveConsent } from './consents.ts'
import type { DeviceContext } from '../context.ts'
import { recallConnection } from './ignored-connections.ts'
import type { Basis } from './listed-invitations.ts'

/**
 * Approves an invitation by a signed consent.
 *
 * Pins the name that the inviter had when the user approved.
 * @param basis the connection and inviter where words prove them; otherwise the caller, and the
 *   listed ones are used
 * @throws AppError as `giveConsent` does
 */
export async function approveInvitation(
  device: DeviceContext,
  account: Account,
  id: string,
  basis?: Basis,
): Promise<Invitation> {
  const approved = await giveConsent(device, account, id, basis)
  const { user_id, display_name } = approved.from
  device.requireSession()
  recallConnection(device.state, approved.connection_id)
  if (user_id !== null && display_name !== null) device.state.names.pin(user_id, display_name)
  device.syncSoon()
  return approved
}
