/** An account whose session can be made anew without anybody: a machine account's, which has its key at hand. */
import { AppError } from '../../errors.ts'
import { type Call, eachCall } from './each-call.ts'
import type { SeatAccount } from './each-call.ts'

/** With the new session a call may still share the fate of one that was under way with the old one; after that, not. */
const TRIES = 3

/**
 * The same account: a call that the server refuses because the session has ended is made again with a new one.
 * @param again makes the new session; called once for all that wait for it
 */
export function renewing(account: SeatAccount, again: () => Promise<unknown>): SeatAccount {
  let renewal: Promise<unknown> | null = null
  const renewed = () =>
    (renewal ??= again().finally(() => {
      renewal = null
    }))

  const around =
    (call: Call): Call =>
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
