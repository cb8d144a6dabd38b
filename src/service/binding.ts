/**
 * Answers as calls: a context is bound to them, and every input is parsed by its row as the wire would, so that defaults are
 * filled in and faults are told alike whether an account server is in this process or far away.
 */
import { parse } from '../api/input.ts'
import type { Route, Table } from '../api/route.ts'

type Input = Readonly<Record<string, unknown>>
type Answer = (input: Input, context: unknown) => Promise<unknown>
type Answers = Readonly<Record<string, Readonly<Record<string, Answer>>>>

/** The rows of `table` that have an answer, as a caller in `context` sees them. The caller of this knows their types. */
export function bind(table: Table, answers: object, context: unknown): object {
  const calls = Object.entries(table).map(([group, routes]) => {
    const rows = Object.entries(routes).flatMap(([name, route]) => {
      const answer = (answers as Answers)[group]?.[name]
      if (answer === undefined) return []
      const call = async (input: Input) => answer(parsed(route, input), context)
      return [[name, call] as const]
    })
    return [group, Object.fromEntries(rows)] as const
  })
  return Object.fromEntries(calls.filter(([, rows]) => Object.keys(rows).length > 0))
}

/** The input of one row: path parameters as they are, query and body by their schemas. */
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
