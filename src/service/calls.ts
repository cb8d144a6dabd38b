/**
 * Calls to an account server in the same process. Each route's answer becomes a function. Its input
 * is parsed by the route's schemas, as over HTTP, so that defaults and errors are the same as with
 * a remote account server.
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
 * Returns the calls of `table` that have an answer, bound to `context`. The caller must cast the
 * result to its type.
 */
export function bind(table: Table, answers: object, context: unknown): object {
  return mapRows<Route, (input: Input) => Promise<unknown>>(table, (route, name, group) => {
    const answer = (answers as ByRow<Answer>)[group]?.[name]
    return answer && (async (input) => answer(parsed(route, input), context))
  })
}

/** Returns the names of the parameters in a path. */
const namesIn = (path: string): ReadonlySet<string> =>
  new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string))

/** The parameters of each path that was called. */
const known = new Map<string, ReadonlySet<string>>()

function paramsOf({ path }: Route): ReadonlySet<string> {
  const params = known.get(path) ?? namesIn(path)
  known.set(path, params)
  return params
}

/**
 * Parses the input of one route. Query and body are parsed by their schemas; path parameters stay
 * as they are.
 */
function parsed(route: Route, { body, ...rest }: Input): Input {
  const params = paramsOf(route)
  const ofPath: Record<string, unknown> = {}
  const ofQuery: Record<string, unknown> = {}
  for (const name of Object.keys(rest)) (params.has(name) ? ofPath : ofQuery)[name] = rest[name]
  if (route.query !== undefined) Object.assign(ofPath, parse('query', route.query, ofQuery))
  if (route.body !== undefined) ofPath['body'] = parse('body', route.body, body)
  return ofPath
}

type Call = (input: Input) => Promise<unknown>

const table: Table = { ...rest, ...signedIn }

const isDoneOnce = (route: Route | undefined): route is Route =>
  route !== undefined && route.method === 'POST' && !route.repeats

/** Returns the path of a call with its parameters filled in. */
const pathOf = ({ path }: Route, input: Input) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => String(input[name]))

/**
 * Returns an account's calls, and `acting`, which returns the same calls as part of an operation.
 * If an operation is repeated and makes a POST again, the POST is executed only once, as over HTTP
 * with an Idempotency-Key.
 * @param server `as`: the calls of a session; `once`: executes a call once per Idempotency-Key
 */
export function actingAccount(
  server: { readonly as: (session: CallerSession) => Account; readonly once: Once },
  who: CallerSession,
): Account & { readonly acting: (act: Act) => Account } {
  const account = server.as(who)
  // Ids of different kinds cannot be equal, because each has its kind's prefix. The session id is
  // not used, because a device that signed in again is still the same caller.
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
