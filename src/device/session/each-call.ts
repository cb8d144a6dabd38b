/** Wraps every call of an account, both single calls and those that belong to an operation. */
import type { Account } from '../../api/port.ts'
import type { Act } from '../../storage/idempotency.ts'

export type AccountCall = (input: unknown) => Promise<unknown>
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
