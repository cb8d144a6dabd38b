/** Approving who asks by an open link: a new connection with the requester invited to it, which the account server keeps together with the approval. */
import type { Account } from '../../api/port.ts'
import type { OpenLinkRequest } from '../../api/rest/open-links.ts'
import { AppError } from '../../errors.ts'
import type { Act } from '../../storage/idempotency.ts'
import { openConnection } from './connections.ts'
import type { DeviceContext } from '../context.ts'

/** More links than an account has. */
const ALL = 200

/** Whether another device approved the request while this one opened a connection for it, which came to nothing then. */
const isApproved = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'invalid_state' &&
  error.details.state === ('approved' satisfies OpenLinkRequest['state'])

/**
 * Approve a request. One that was approved before stays as it is.
 * @param id of the request
 * @throws AppError `not_found`, `invalid_state` for a declined one or the own mailbox, and what the account throws
 */
export async function approveRequest(
  device: DeviceContext,
  account: Account,
  id: string,
  act: Act,
): Promise<OpenLinkRequest> {
  const read = () => account.openLinkApprovals.read({ id })
  const request = await read()
  const { state, requester } = request
  if (state === 'approved') return request
  if (state === 'declined')
    throw new AppError('invalid_state', 'This request was declined: whoever asked may ask again.', {
      details: { state },
    })
  const { items } = await account.openLinks.list({ limit: ALL })
  const preset = items.find((link) => link.id === request.open_link_id)?.preset_id ?? null
  const wanted = {
    name: requester.display_name,
    invite: [{ email: requester.email }],
    open_link_request: id,
    // Without one of the link's, the default one.
    ...(preset === null ? {} : { preset_id: preset }),
  }
  try {
    const { id: connection_id } = await openConnection(device, account, wanted, act)
    return { ...request, state: 'approved', connection_id }
  } catch (error) {
    if (isApproved(error)) return read()
    throw error
  }
}
