/**
 * Wraps every call of an account, for example to renew its session without user interaction, with a
 * machine's key.
 */
import type { Account } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import type { Act } from '../../storage/idempotency.ts'

type AccountCall = (input: unknown) => Promise<unknown>
type Calls = Readonly<Record<string, Readonly<Record<string, AccountCall>>>>

/** Returns the same account with `around` applied to each of its calls. */
export function eachCall(
  account: SessionAccount,
  around: (call: AccountCall) => AccountCall,
): SessionAccount {
  /**
   * Wraps each call of `calls`.
   *
   * The result has the same calls, so the mapped types need not check them again.
   */
  function wrapped(calls: Account): Account {
    const groups = {}
    const all = calls as unknown as Calls
    for (const group of Object.keys(all)) {
      const make = () =>
        Object.fromEntries(
          Object.entries(all[group] ?? {}).map(([name, call]) => [name, around(call)]),
        )
      let made: ReturnType<typeof make> | null = null
      // A group is made at its first use, because a daemon needs few of them when it starts.
      Object.defineProperty(groups, group, { enumerable: true, get: () => (made ??= make()) })
    }
    return groups as Account
  }

  const { acting, ...calls } = account
  const all = wrapped(calls)
  return acting === undefined
    ? all
    : Object.assign(all, { acting: (act: Act) => wrapped(acting(act)) })
}

/** An account, optionally with a function that makes several requests parts of one operation. */
export type SessionAccount = Account & { readonly acting?: (act: Act) => Account }

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
