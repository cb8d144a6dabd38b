/**
 * The calls of an account server in this process: its answers as functions. Each input is parsed by
 * its route, as over HTTP, so that defaults and errors are the same as those of a remote account
 * server.
 */
import { hash } from 'node:crypto'
import { signedIn } from '../api/device/index.ts'
import { parse } from '../api/input.ts'
import type { Account, CallerSession } from '../api/port.ts'
import { rest } from '../api/rest/index.ts'
import type { Route, Table } from '../api/route.ts'
import { type ByRow, mapRows } from '../api/rows.ts'
import { type Act, type Once, requestKey } from '../storage/idempotency.ts'

type Input = Readonly<Record<string, unknown>>
type Answer = (input: Input, context: unknown) => Promise<unknown>

/**
 * Returns the calls of `table` that have an answer, bound to `context`. The caller adds their
 * types.
 */
export function bind(table: Table, answers: object, context: unknown): object {
  return mapRows<Route, (input: Input) => Promise<unknown>>(table, (route, name, group) => {
    const answer = (answers as ByRow<Answer>)[group]?.[name]
    return answer && (async (input) => answer(parsed(route, input), context))
  })
}

/**
 * Parses the input of one route: query and body by their schemas; path parameters are unchanged.
 */
function parsed(route: Route, { body, ...rest }: Input): Input {
  const params = new Set([...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name))
  const part = (ofPath: boolean) =>
    Object.fromEntries(Object.entries(rest).filter(([name]) => params.has(name) === ofPath))
  return {
    ...part(true),
    ...(route.query === undefined ? {} : (parse('query', route.query, part(false)) as object)),
    ...(route.body === undefined ? {} : { body: parse('body', route.body, body) }),
  }
}

type Call = (input: Input) => Promise<unknown>

const table: Table = { ...rest, ...signedIn }

const isDoneOnce = (route: Route | undefined): route is Route =>
  route !== undefined && route.method === 'POST' && !route.repeats

/** Returns the path of a call with its parameters filled in. */
const pathOf = ({ path }: Route, input: Input) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => String(input[name]))

/**
 * Returns the account of a session, and a function for the same account as part of an operation. A
 * call that a repeated or interrupted operation makes again is executed once, as over HTTP with an
 * Idempotency-Key.
 * @param server its answers, and its Idempotency-Key support
 */
export function actingAccount(
  server: { readonly as: (session: CallerSession) => Account; readonly once: Once },
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
