/** Makes an account that renews its session without user interaction, with a machine's key. */
import { AppError } from '../../errors.ts'
import { type AccountCall, eachCall } from './each-call.ts'
import type { SessionAccount } from './each-call.ts'

/**
 * The maximum number of attempts of a call.
 *
 * The second attempt may still fail together with a call that was in flight with the old session.
 * The third one does not.
 */
const TRIES = 3

/**
 * Returns the same account. A call that the server rejects for an ended session is repeated.
 * @param again makes the new session; called once for all calls that wait for it
 */
export function renewing(account: SessionAccount, again: () => Promise<unknown>): SessionAccount {
  let renewal: Promise<unknown> | null = null
  const renewed = () =>
    (renewal ??= again().finally(() => {
      renewal = null
    }))

  const around =
    (call: AccountCall): AccountCall =>
    async (input) => {
      for (let tried = 1; ; tried++)
        try {
          return await call(input)
        } catch (error) {
          const ended = error instanceof AppError && error.code === 'not_signed_in'
          if (!ended || tried === TRIES) throw error
          if (tried === 1) await renewed()
        }
    }

  return eachCall(account, around)
}
