/** An account whose session can be made anew without anybody: a machine account's, which has its key at hand. */
import type { Account } from '../api/port.ts'
import { AppError } from '../errors.ts'
import type { SeatAccount } from './seat.ts'

type Call = (input: unknown) => Promise<unknown>
type Calls = Readonly<Record<string, Readonly<Record<string, Call>>>>

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

  function wrapped(calls: Account): Account {
    const groups = Object.entries(calls as unknown as Calls).map(([group, rows]) => [
      group,
      Object.fromEntries(Object.entries(rows).map(([name, call]) => [name, around(call)])),
    ])
    return Object.fromEntries(groups) as Account
  }

  const { acting, ...calls } = account
  return {
    ...wrapped(calls),
    ...(acting === undefined ? {} : { acting: (act) => wrapped(acting(act)) }),
  }
}
