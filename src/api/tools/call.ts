/**
 * Converts a tool call to a request of its row.
 *
 * The request is handled like any other request of the caller.
 */
import { invalid } from '../input.ts'
import { DEEPEST, isWithin } from '../json-shape.ts'
import { type Route, type Table, pathNames } from '../route.ts'
import { clientOf, outgoing } from '../client.ts'
import { rest } from '../rest/index.ts'
import { AppError } from '../../errors.ts'
import { withIds } from './names.ts'
import { membersOf } from './parameters.ts'
import { type Tool, toolsOf } from './tool.ts'

/** A request for a row. */
export interface ToolCall {
  readonly route: Route
  readonly method: string
  readonly segments: readonly string[]
  /** The query string without the question mark. */
  readonly query: string
  /** The body as a JSON value; undefined if there is none. */
  readonly body: unknown
}

/**
 * Calls a row for the caller of a tool, including the scope check and the validation.
 * @returns the answer; `value` is a `Content` if `media` is true
 * @throws AppError as the row does
 */
export type Ask = (call: ToolCall) => Promise<{ readonly value: unknown; readonly media: boolean }>

/** The maximum number of arguments. No tool accepts that many. */
const MOST_ARGUMENTS = 100

/**
 * The form of path parameters, which must be ids.
 *
 * Any other text could lead to another row, or an error could quote it at full length.
 */
const ID = /^[a-z]{3}_[0-9a-z]{26}$/
/** A text that is not the id of any resource. */
const NO_ID = 'no-id'

/** The maximum length of a query string in characters. */
const LONGEST_QUERY = 8192

/** Whether a value can be written in a query. */
const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

/**
 * Returns the query string of these values.
 * @throws AppError `validation_failed` for values that a query cannot express
 */
function queryOf(values: Readonly<Record<string, unknown>>): string {
  const lists = Object.entries(values).map(([name, value]): [string, readonly unknown[]] => [
    name,
    Array.isArray(value) ? value : [value],
  ])
  // An empty list would mean "no filter", so a deletion would apply to everything.
  const odd = lists.filter(([, list]) => list.length === 0 || !list.every(isPlain))
  if (odd.length > 0)
    throw invalid(
      'query',
      odd.map(([path]) => ({
        path,
        message: 'Expected a string or a number. Otherwise leave it out.',
      })),
    )
  const query = new URLSearchParams()
  for (const [name, list] of lists) for (const one of list) query.append(name, String(one))
  const text = query.toString()
  if (text.length > LONGEST_QUERY)
    throw invalid('query', [{ path: '', message: 'The arguments are too long. Shorten them.' }])
  return text
}

/**
 * Returns an object that accepts any member name, even `__proto__`.
 *
 * The row then rejects `__proto__` like every unknown name.
 */
const noMembers = (): Record<string, unknown> => Object.create(null) as Record<string, unknown>

/**
 * Returns the request of a tool call. If the arguments are invalid, the row rejects them later.
 * @throws AppError `validation_failed` if a path parameter is missing
 */
export function callOf({ route }: Tool, given: Readonly<Record<string, unknown>>): ToolCall {
  if (Object.keys(given).length > MOST_ARGUMENTS)
    throw invalid('body', [{ path: '', message: `Give at most ${MOST_ARGUMENTS} arguments.` }])
  if (!isWithin(given, DEEPEST))
    throw invalid('body', [
      { path: '', message: `The arguments are nested deeper than ${DEEPEST} levels.` },
    ])
  const { secret } = route
  if (secret !== undefined && Object.hasOwn(given, secret))
    throw invalid('body', [
      { path: secret, message: 'Tools do not accept this secret. Use the command line or REST.' },
    ])
  const inPath = pathNames(route.path)
  const missing = inPath.filter((name) => typeof given[name] !== 'string' || given[name] === '')
  if (missing.length > 0)
    throw invalid(
      'body',
      missing.map((path) => ({ path, message: 'Expected an id.' })),
    )
  const inQuery = route.query === undefined ? [] : membersOf(route.query)
  const parts = { path: noMembers(), query: noMembers(), body: noMembers() }
  // An unknown argument is put into the part in which the row rejects it.
  const rest = route.body === undefined ? 'query' : 'body'
  for (const [name, value] of Object.entries(given)) {
    const part = inPath.includes(name) ? 'path' : inQuery.includes(name) ? 'query' : rest
    parts[part][name] = part === 'path' && !ID.test(value as string) ? NO_ID : value
  }
  // The answer must end, so a tool reads a stream as JSON.
  if (route.lasting === true) parts.query['wait'] ??= 0
  const isLeftOut = route.body?.type === 'optional' && Object.keys(parts.body).length === 0
  const body = route.body === undefined || isLeftOut ? undefined : parts.body
  const { path } = outgoing(route, parts.path)
  const segments = path.slice(1).split('/').map(decodeURIComponent)
  return { route, method: route.method, segments, query: queryOf(parts.query), body }
}

/** Returns the calls of the rows for the caller of a tool. */
export const apiOf = (ask: Ask) =>
  clientOf(rest, async ({ route, path, query, body }) => {
    const segments = path.slice(1).split('/').map(decodeURIComponent)
    return (await ask({ route, method: route.method, segments, query, body })).value
  })

/** Returns a function that calls tools by their name. */
export function newCaller(table: Table) {
  const tools = new Map(toolsOf(table).map((tool) => [tool.name, tool]))
  /**
   * Names in the arguments become ids first, from lists that the caller may read.
   * @throws AppError `not_found` for an unknown tool or name; `conflict` if a name can mean several
   *   items; the errors of the tool's row
   */
  return async (
    ask: Ask,
    name: string,
    given: Readonly<Record<string, unknown>>,
  ): ReturnType<Ask> => {
    const tool = tools.get(name)
    if (tool === undefined)
      throw new AppError('not_found', 'There is no tool with this name. List the tools first.')
    const call = callOf(tool, given)
    const args = await withIds(tool, given, () => apiOf(ask))
    return ask(args === given ? call : callOf(tool, args))
  }
}
