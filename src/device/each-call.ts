/** An account whose every call, alone and as part of an act, goes through something. */
import type { Account } from '../api/port.ts'
import type { SeatAccount } from './seat.ts'

export type Call = (input: unknown) => Promise<unknown>
type Calls = Readonly<Record<string, Readonly<Record<string, Call>>>>

/** The same account, `around` each of its calls. */
export function eachCall(account: SeatAccount, around: (call: Call) => Call): SeatAccount {
  /** The mapped types have counted the calls; these are the same. */
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
