/**
 * One client for every table: the calls of its rows, over any transport. The command line, the
 * remote account and the tests use it; none of them writes a path.
 */
import type { Calls, Route, Table } from './route.ts'
import { mapRows } from './rows.ts'
import { AppError } from '../errors.ts'

export interface Outgoing {
  readonly route: Route
  /** The path with its parameters filled in. */
  readonly path: string
  /** The query string without its question mark. */
  readonly query: string
  readonly body: unknown
}

type Input = Readonly<Record<string, unknown>>

/**
 * Returns the request for a call of a row: path parameters by their names, `body`, and all else
 * in the query.
 * @throws AppError `not_found` for a parameter that no path can have
 */
export function outgoing(route: Route, input: Input): Outgoing {
  const { body, ...rest } = input
  const inPath = new Set<string>()
  const path = route.path.replace(/{(\w+)}/g, (_, name: string) => {
    inPath.add(name)
    const value = String(rest[name])
    // URL parsers resolve these segments (RFC 3986 section 5.2.4), so the request would be for
    // another path. A lone surrogate has no UTF-8 encoding.
    if (value === '' || value === '.' || value === '..' || !value.isWellFormed())
      throw new AppError('not_found', `Nothing has the ${name} "${value}".`)
    return encodeURIComponent(value)
  })
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(rest))
    if (!inPath.has(name) && value !== undefined)
      for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
  return { route, path, query: query.toString(), body }
}

/**
 * Returns the calls of a table's rows.
 * @param send sends a request and returns the parsed answer, or throws
 * @param by restricts the rows to these answerers; all rows by default
 */
export function clientOf<T extends Table, By extends Route['by'] = 'daemon' | 'account' | 'both'>(
  table: T,
  send: (request: Outgoing) => Promise<unknown>,
  by?: readonly By[],
): Calls<T, By> {
  const isIncluded = (route: Route) =>
    by === undefined || (by as readonly string[]).includes(route.by)
  const calls = mapRows<Route, (input: Input) => Promise<unknown>>(table, (route) =>
    isIncluded(route) ? async (input) => send(outgoing(route, input)) : undefined,
  )
  return calls as unknown as Calls<T, By>
}
