/**
 * A client for the rows of any table, over any transport.
 *
 * The command line, the remote account and the tests use it, so none of them has to write a path.
 */
import type { Calls, Route, Table } from './route.ts'
import { mapRows } from './rows.ts'
import { AppError } from '../errors.ts'

export interface Outgoing {
  readonly route: Route
  /** The path with its parameters filled in. */
  readonly path: string
  /** The query string without the question mark. */
  readonly query: string
  readonly body: unknown
}

type Input = Readonly<Record<string, unknown>>

/**
 * Returns the request for a call of a row.
 *
 * The path parameters are taken from `input` by name, the body from its member `body`. All other
 * members go into the query.
 * @throws AppError `not_found` for a value that cannot be a path segment
 */
export function outgoing(route: Route, input: Input): Outgoing {
  const { body, ...rest } = input
  const inPath = new Set<string>()
  const path = route.path.replace(/{(\w+)}/g, (_, name: string) => {
    inPath.add(name)
    const value = String(rest[name])
    // URL parsers resolve these segments (RFC 3986 section 5.2.4), so the request would go to
    // another path. A lone surrogate cannot be encoded in UTF-8.
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
 * Returns functions that call the rows of a table.
 * @param send sends a request and returns the parsed answer, or throws
 * @param by restricts the rows to those that these components answer (default: all rows)
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
