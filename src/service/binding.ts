/**
 * Answers as function calls with a bound context. Each input is parsed by its route, as over
 * HTTP, so defaults and errors are the same for an account server in this process and a remote
 * one.
 */
import { parse } from '../api/input.ts'
import type { Route, Table } from '../api/route.ts'
import { type ByRow, mapRows } from '../api/rows.ts'

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
