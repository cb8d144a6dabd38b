/**
 * One client for every table: the calls of its rows, over whatever carries a request. The command line, a remote account and
 * the tests are callers of it; none of them writes a path.
 */
import type { Calls, Route, Table } from './api/route.ts'

export interface Outgoing {
  readonly route: Route
  /** The path with its parameters filled in. */
  readonly path: string
  /** The query string without its question mark. */
  readonly query: string
  readonly body: unknown
}

type Input = Readonly<Record<string, unknown>>

function outgoing(route: Route, input: Input): Outgoing {
  const { body, ...rest } = input
  const inPath = new Set<string>()
  const path = route.path.replace(/{(\w+)}/g, (_, name: string) => {
    inPath.add(name)
    return encodeURIComponent(String(rest[name]))
  })
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(rest))
    if (!inPath.has(name) && value !== undefined)
      for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one))
  return { route, path, query: query.toString(), body }
}

/**
 * The calls of a table's rows.
 * @param send carries a request and gives back the parsed answer, or throws
 */
export function clientOf<T extends Table>(
  table: T,
  send: (request: Outgoing) => Promise<unknown>,
): Calls<T, 'daemon' | 'account' | 'both'> {
  const groups = Object.entries(table).map(([group, routes]) => {
    const calls = Object.entries(routes).map(
      ([name, route]) => [name, (input: Input) => send(outgoing(route, input))] as const,
    )
    return [group, Object.fromEntries(calls)] as const
  })
  return Object.fromEntries(groups) as unknown as Calls<T, 'daemon' | 'account' | 'both'>
}
