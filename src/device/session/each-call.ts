/** An account whose every call, alone and as part of an act, goes through something. */
import type { Account } from '../../api/port.ts'
import type { Act } from '../../storage/idempotency.ts'

export type Call = (input: unknown) => Promise<unknown>
type Calls = Readonly<Record<string, Readonly<Record<string, Call>>>>

/** The same account, `around` each of its calls. */
export function eachCall(account: SeatAccount, around: (call: Call) => Call): SeatAccount {
  /** The mapped types have counted the calls; these are the same. */
  function wrapped(calls: Account): Account {
    const groups = {}
    const all = calls as unknown as Calls
    for (const group of Object.keys(all)) {
      const make = () =>
        Object.fromEntries(
          Object.entries(all[group] ?? {}).map(([name, call]) => [name, around(call)]),
        )
      let made: ReturnType<typeof make> | null = null
      // A group is made when it is asked: a daemon that starts needs few of them.
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

/** An account, with what makes several requests parts of one act where that matters. */
export type SeatAccount = Account & { readonly acting?: (act: Act) => Account }
