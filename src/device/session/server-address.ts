/** Whether the account server is asked at the address that it calls its own: proofs and assertions are made for that one alone. */
import type { Door } from '../../api/port.ts'
import { AppError } from '../../errors.ts'

/**
 * Refuse to sign in at another address of the server than its public one: every request after that would be refused.
 * @param server the origin at which it is asked
 * @throws AppError invalid_state `other_address`, and as the clock's row does
 */
export async function demandPublicAddress(clock: Door['clock'], server: string): Promise<void> {
  const { public_url } = await clock.read({})
  const own = URL.parse(public_url)?.origin
  if (own === server) return
  throw new AppError(
    'invalid_state',
    `The account server at ${server} says that its public address is ${own ?? 'none'}. Set SVC_BACKEND_URL to that, exactly; ` +
      'where it is not the server’s address, its operator must set SVC_PUBLIC_URL.',
    { details: { state: 'other_address' } },
  )
}
