/**
 * From a request to an answer: authorize → find the row → validate → answer. It knows tables and scopes, and nothing of HTTP
 * but the words method and path; servers and tools alike call it.
 */
import { strictObject } from 'valibot'
import { invalid, parse } from './api/input.ts'
import type { Route, Table } from './api/route.ts'
import { type Need, type Scope, requireScope } from './auth/scopes.ts'
import { AppError } from './errors.ts'
import { decodeQuery } from './query.ts'
import { newRouter } from './router.ts'

export interface Request {
  readonly method: string
  readonly segments: readonly string[]
  readonly query: string
  /** The media types the caller would take (RFC 9110 section 12.5.1); empty when it did not say. */
  readonly accept: string
  /** The bearer token, or null when none was given. */
  readonly token: string | null
  /** SHA-256 of the token in hex, where somebody has it at hand. */
  readonly digest?: string
  /** Read the parsed JSON body of at most `limit` bytes; undefined when there is none. */
  body(limit: number): Promise<unknown>
}

export interface Answer {
  readonly status: number
  /** What the row's reply schema or media describes; undefined for 204. */
  readonly value: unknown
  readonly media: boolean
  /** The path of the resource a 201 made, where it can be read. */
  readonly location?: string
}

/** Who may come in: the scope table, and what a token stands for. `context` makes what the answers get. */
export interface Gate<Caller extends { scope: Scope | 'session' }> {
  need(method: string, segments: readonly string[]): Need
  authenticate(token: string, digest?: string): Caller | Promise<Caller>
  context(caller: Caller | null, accept: string): unknown
}

type Answerer = (input: unknown, context: unknown) => Promise<unknown>
type Answerers = Readonly<Record<string, Readonly<Record<string, Answerer>>>>

interface Row {
  readonly route: Route
  readonly answer: Answerer | null
  readonly media: boolean
  readonly location: boolean
}

type Answered = Exclude<Route, { by: 'pending' }>

const MIB = 1024 * 1024
const NOTHING = strictObject({})

const unauthorized = () =>
  new AppError(
    'unauthorized',
    'This route needs a token: send "Authorization: Bearer <token>". POST /api/v1/token makes one.',
    // RFC 6750 section 3: no error code when the request had no credentials.
    { headers: { 'WWW-Authenticate': 'Bearer' } },
  )

/** All rows of a table as one list, in its order. */
export const rowsOf = (table: Table): { group: string; name: string; route: Route }[] =>
  Object.entries(table).flatMap(([group, routes]) =>
    Object.entries(routes).map(([name, route]) => ({ group, name, route })),
  )

/**
 * Make the dispatcher of a table. `answerers` holds the answers of every row that is not pending, by group and name;
 * callers pass values of the mapped types, so the compiler has counted them.
 */
export function newDispatch<Caller extends { scope: Scope | 'session' }>(
  table: Table,
  answerers: object,
  gate: Gate<Caller>,
) {
  const router = newRouter<Row>()
  const rows = rowsOf(table)
  const readable = new Set(
    rows.filter(({ route }) => route.method === 'GET').map((r) => r.route.path),
  )
  for (const { group, name, route } of rows) {
    const answer = (answerers as Answerers)[group]?.[name] ?? null
    if (answer === null && route.by !== 'pending') throw new Error(`${group}.${name} has no answer`)
    const row: Row = {
      route,
      answer,
      media: route.by !== 'pending' && route.reply !== undefined && 'media' in route.reply,
      location: readable.has(`${route.path}/{id}`),
    }
    router.add(route.method, route.path, row)
    if (route.also !== undefined) router.add(route.method, route.also, row)
  }

  /** Refuse a caller that may not do what the request asks. Throws AppError 403. */
  function permit(caller: Caller, need: Need, { method, segments }: Request): Caller {
    if (caller.scope === 'session') return caller
    if (need === 'session')
      throw new AppError('forbidden', 'Only the session of a device may ask this.')
    requireScope(caller.scope, need as Scope, method, segments)
    return caller
  }

  /**
   * The caller behind the token, where the request needs one; a promise only where the gate gives one, since every request
   * pays for a promise. Throws AppError 401 or 403.
   */
  function authorize(request: Request): Caller | null | Promise<Caller> {
    const need = gate.need(request.method, request.segments)
    if (need === 'none') return null
    if (request.token === null) throw unauthorized()
    const caller = gate.authenticate(request.token, request.digest)
    return caller instanceof Promise
      ? caller.then((known) => permit(known, need, request))
      : permit(caller, need, request)
  }

  function find({ method, segments }: Request) {
    const found = router.find(method, segments)
    if (found === null)
      throw new AppError(
        'no_such_route',
        `There is no /${segments.join('/')} here. GET /api/v1/openapi.json lists every route.`,
      )
    if ('allow' in found)
      throw new AppError(
        'method_not_allowed',
        `/${segments.join('/')} does not take ${method}; it takes ${found.allow.join(', ')}.`,
        { headers: { Allow: found.allow.join(', ') } },
      )
    return found
  }

  /** What the row says of parameters and query; the answerer gets parsed values only. */
  function inputOf(row: Row, params: Record<string, string>, { query }: Request) {
    const { route } = row
    if (route.by === 'pending')
      throw new AppError(
        'not_implemented',
        `${route.method} ${route.path} is documented but has no answer in this version yet.`,
      )
    // Pages are opened from mails, whose clients append parameters of their own; everywhere else an unknown one is a mistake.
    if (route.query === undefined && (query === '' || row.media)) return params
    const schema = route.query ?? NOTHING
    const parsed = parse('query', schema, decodeQuery(schema, query)) as object
    return { ...params, ...parsed }
  }

  /** What the row says of the body. */
  async function bodyOf(route: Answered, request: Request): Promise<{ body?: unknown }> {
    const body = await request.body(route.limit ?? MIB)
    // To valibot an array without required members is an object; no body here is one.
    if (Array.isArray(body)) throw invalid('body', [{ path: '', message: 'Expected an object.' }])
    if (route.body !== undefined) return { body: parse('body', route.body, body) }
    if (body !== undefined) parse('body', NOTHING, body)
    return {}
  }

  /** Answer a request. Throws AppError for everything the caller should be told. */
  async function dispatch(request: Request): Promise<Answer> {
    const known = authorize(request)
    const caller = known instanceof Promise ? await known : known
    const { value: row, params } = find(request)
    const input = inputOf(row, params, request)
    const route = row.route as Answered
    if (route.method !== 'GET') Object.assign(input, await bodyOf(route, request))
    const value = await (row.answer as Answerer)(input, gate.context(caller, request.accept))
    const status = route.status ?? 200
    if (status === 201 && row.location)
      return {
        status,
        value,
        media: false,
        location: `${route.path}/${(value as { id: string }).id}`,
      }
    return { status, value, media: row.media }
  }

  return dispatch
}

export type Dispatch = ReturnType<typeof newDispatch>
