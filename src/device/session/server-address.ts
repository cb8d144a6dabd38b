/**
 * Checks that the account server is configured by its public address.
 *
 * Proofs and assertions are valid for that address only.
 */
import type { UnauthenticatedClient } from '../../api/port.ts'
import { AppError } from '../../errors.ts'

/**
 * Requires that the configured address of the account server is its public one.
 *
 * With another address the server would reject every later request.
 * @param server the configured origin
 * @throws AppError invalid_state `other_address`, and as the clock's row does
 */
export async function requirePublicAddress(
  clock: UnauthenticatedClient['clock'],
  server: string,
): Promise<void> {
  const { public_url } = await clock.read({})
  const own = URL.parse(public_url)?.origin
  if (own === server) return
  throw new AppError(
    'invalid_state',
    `The account server at ${server} reports the public address ${own ?? 'none'}. Set SVC_BACKEND_URL to that, exactly; ` +
      'where it is not the server’s address, its operator must set SVC_PUBLIC_URL.',
    { details: { state: 'other_address' } },
  )
}
