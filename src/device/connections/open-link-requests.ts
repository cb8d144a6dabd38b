/**
 * Approves open-link requests: opens a connection to which the requester is invited.
 *
 * The account server stores the connection together with the approval.
 */
import type { Account } from '../../api/port.ts'
import type { OpenLinkRequest } from '../../api/rest/open-links.ts'
import { AppError } from '../../errors.ts'
import type { Act } from '../../storage/idempotency.ts'
import { openConnection } from './connections.ts'
import type { DeviceContext } from '../context.ts'

/** More than the maximum number of links of an account. */
const ALL = 200

/** Checks whether another device approved the request first, so that nothing was opened here. */
const isApproved = (error: unknown) =>
  error instanceof AppError &&
  error.code === 'invalid_state' &&
  error.details.state === ('approved' satisfies OpenLinkRequest['state'])

/**
 * Approves a request. One that was already approved stays unchanged.
 * @param id request id
 * @throws AppError `not_found`; `invalid_state` for a declined request or one from the account's
 *   own mailbox; and what the account throws
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
    throw new AppError(
      'invalid_state',
      'This request was declined. The person who asked may ask again.',
      {
        details: { state },
      },
    )
  const { items } = await account.openLinks.list({ limit: ALL })
  const preset = items.find((link) => link.id === request.open_link_id)?.preset_id ?? null
  const wanted = {
    name: requester.display_name,
    invite: [{ email: requester.email }],
    open_link_request: id,
    // If the link has no preset, the server uses the default preset.
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
