/**
 * An account in this process, called as part of an operation. A call that a repeated or
 * interrupted operation makes again is executed once, as over HTTP with an Idempotency-Key.
 */
import { hash } from 'node:crypto'
import { signedIn } from '../api/device/index.ts'
import type { Account, CallerSession } from '../api/port.ts'
import { rest } from '../api/rest/index.ts'
import type { Route, Table } from '../api/route.ts'
import { type ByRow, mapRows } from '../api/rows.ts'
import { type Act, requestKey } from '../storage/idempotency.ts'
import type { AccountServer } from './service.ts'

type Input = Readonly<Record<string, unknown>>
type Call = (input: Input) => Promise<unknown>

const table: Table = { ...rest, ...signedIn }

const isDoneOnce = (route: Route | undefined): route is Route =>
  route !== undefined && route.method === 'POST' && !route.repeats

/** Returns the path of a call with its parameters filled in. */
const pathOf = ({ path }: Route, input: Input) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => String(input[name]))

/**
 * Returns the account of a session, and a function for the same account as part of an operation.
 * @param server its answers, and its Idempotency-Key support
 */
export function actingAccount(
  server: Pick<AccountServer, 'as' | 'once'>,
  who: CallerSession,
): Account & { readonly acting: (act: Act) => Account } {
  const account = server.as(who)
  // The prefix of an id shows its kind. Not the session id: a device that signed in again is the
  // same caller.
  const caller = who.token ?? who.device ?? who.account

  const once = (act: Act, route: Route, call: Call): Call => {
    return async (input) => {
      const path = pathOf(route, input)
      const key = requestKey(act, route.method, path)
      const fingerprint = hash('sha256', JSON.stringify([path, input]), 'hex')
      const { value } = await server.once({ caller, key, fingerprint }, async () => ({
        value: await call(input),
      }))
      return value
    }
  }

  /**
   * The result has the same groups and calls as `account`, which its mapped type cannot express.
   */
  const acting = (act: Act): Account => {
    const calls = mapRows<Call, Call>(account as unknown as ByRow<Call>, (call, name, group) => {
      const route = table[group]?.[name]
      return isDoneOnce(route) ? once(act, route, call) : call
    })
    return calls as unknown as Account
  }
  return { ...account, acting }
}
