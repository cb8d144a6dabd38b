/**
 * From a request to an answer: authorize → find the row → validate → answer. It knows tables and scopes, and nothing of HTTP
 * but the words method and path; servers and tools alike call it.
 */
import { hash } from 'node:crypto'
import { strictObject } from 'valibot'
import { invalid, parse } from '../api/input.ts'
import { type Route, type Table, isOnce } from '../api/route.ts'
import { type Need, type Standing, isGranted, requireScope } from '../auth/scopes.ts'
import { redact } from '../crypto/encoding/redact.ts'
import { AppError, type Code, statusOf, toAppError } from '../errors.ts'
import { decodeQuery } from './query.ts'
import { type Found, newRouter } from '../router.ts'
import type { Act, Once } from '../storage/idempotency.ts'

export type { Act, Once }

/** As what a body is read. */
export type BodyKind = 'json' | 'form' | 'text'

export interface Request {
  /** What the answer and the log know this request by. */
  readonly id: string
  /** The uid of whoever is at the other end; null where it cannot be told. It takes a look at the system: asked when needed. */
  readonly peer: () => number | null
  readonly method: string
  readonly segments: readonly string[]
  readonly query: string
  /** The media types the caller would take (RFC 9110 section 12.5.1); empty when it did not say. */
  readonly accept: string
  /** The token, or null when none was given. */
  readonly token: string | null
  /** SHA-256 of the token in hex, where somebody has it at hand. */
  readonly digest?: string
  /** How the token was presented: alone (RFC 6750), which is the usual, or as one that is bound to a key (RFC 9449). */
  readonly scheme?: 'Bearer' | 'DPoP'
  /** A proof of possession of a key (RFC 9449), where the request carries one. With the scheme DPoP it does. */
  readonly proof?: string | undefined
  /** The `Idempotency-Key`, where the request carries one. */
  readonly idempotencyKey?: string | undefined
  /** A header field by its name in lower case, for rows whose body is passed on as text. */
  readonly header?: (name: string) => string | undefined
  /** Read the body of at most `limit` bytes: JSON, parsed, undefined when there is none; a form, as an object of strings; or text. */
  body(limit: number, as?: BodyKind): Promise<unknown>
}

/** A request that carries a token. */
export type Presented = Request & { readonly token: string }

export interface Answer {
  /** Method and path as the table has them. */
  readonly route: string
  readonly status: number
  /** What the row's `reply` or `media` describes; undefined for 204. */
  readonly value: unknown
  readonly media: boolean
  /** The path of the resource a 201 made, where it can be read. */
  readonly location?: string
}

/** What came of a request. */
export interface Outcome {
  readonly request: Pick<Request, 'id' | 'peer'>
  /** As `callerId` says it; null where nobody was recognised, or nobody had to be. */
  readonly callerId: string | null
  /** Method and path as the table has them; null where it has no such row. */
  readonly route: string | null
  readonly status: number
  /** The code of the error; null where it went well. */
  readonly error: Code | null
  /** The id of what a 201 made. */
  readonly created: string | undefined
}

/** Who may come in: the scope table, and what a token stands for. */
export interface Gate<Caller extends { readonly scope: Standing }> {
  need(method: string, segments: readonly string[]): Need
  /** Throws AppError 401 for a token that is no good, or was not presented as it must be. */
  authenticate(request: Presented): Caller | Promise<Caller>
  /** What the caller of a route that needs a token is told when there is none; the daemon's words by default. */
  unauthorized?(): AppError
  /**
   * What the answers get beside their input: a promise, where it takes one.
   * @param caller null on a public route
   * @param act what the answer is a part of, where the request may be repeated
   */
  context(caller: Caller | null, request: Request, act: Act | null): unknown
  /** Does what comes under an Idempotency-Key once. Without it, or `callerId`, the field is not heeded. */
  readonly once?: Once
  /** Whose the keys of a caller are: unique among all callers, and the same at every request of this one. */
  callerId?(caller: Caller): string
  /** Told what came of every request, before its answer leaves. */
  record?(outcome: Outcome): void
}

type Answerer = (input: unknown, context: unknown) => Promise<unknown>
type Answerers = Readonly<Record<string, Readonly<Record<string, Answerer>>>>

interface Row {
  readonly route: Route
  /** Method and path. */
  readonly name: string
  readonly answer: Answerer
  readonly media: boolean
  readonly location: boolean
  /** Whether an Idempotency-Key is heeded. */
  readonly once: boolean
}

const MIB = 1024 * 1024
const NOTHING = strictObject({})
const DOCUMENT = '/api/v1/openapi.json'

type Came = Pick<Outcome, 'status' | 'error' | 'created'>

function failed(cause: unknown): Came {
  const { code } = toAppError(cause)
  return { status: statusOf(code), error: code, created: undefined }
}

function succeeded({ status, value, media }: Pick<Answer, 'status' | 'value' | 'media'>): Came {
  const { id, status: own } = (value ?? {}) as { id?: unknown; status?: unknown }
  return {
    // Of what is answered as it is: a stream, a page, a protocol's own refusal.
    status: media && typeof own === 'number' ? own : status,
    error: null,
    created: status === 201 && typeof id === 'string' ? id : undefined,
  }
}

const unauthorized = () =>
  new AppError(
    'unauthorized',
    'This route needs a token: send "Authorization: Bearer <token>". POST /api/v1/token makes one.',
    // RFC 6750 section 3: no error code when the request had no credentials.
    { headers: { 'WWW-Authenticate': 'Bearer' } },
  )

/** A path as an error tells it. Somebody may have put a token there. */
const shown = (segments: readonly string[]) => redact(segments.join('/'))

/** What tells a request from any other under the same Idempotency-Key: SHA-256 of all that it asks. */
const fingerprintOf = ({ method, segments, query }: Request, body: unknown): string =>
  hash('sha256', JSON.stringify([method, segments, query, body ?? null]), 'hex')

/** A body or an answer without its secret member, where the row names one. */
function withoutSecret({ secret }: Route, value: unknown): unknown {
  if (secret === undefined || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== secret))
}

const segmentsOf = (path: string): string[] => path.slice(1).split('/')

const kindOf = ({ form, text }: Route): BodyKind =>
  form === true ? 'form' : text === true ? 'text' : 'json'

/** All rows of a table as one list, in its order. */
export const rowsOf = (table: Table): { group: string; name: string; route: Route }[] =>
  Object.entries(table).flatMap(([group, routes]) =>
    Object.entries(routes).map(([name, route]) => ({ group, name, route })),
  )

/**
 * Make the dispatcher of a table. `answerers` holds the answers of every row, by group and name; callers pass values of the mapped types, so the compiler has counted them.
 */
export function newDispatch<Caller extends { readonly scope: Standing }>(
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
    const answer = (answerers as Answerers)[group]?.[name]
    if (answer === undefined) throw new Error(`${group}.${name} has no answer`)
    const row: Row = {
      route,
      name: `${route.method} ${route.path}`,
      answer,
      media: route.media !== undefined,
      location: readable.has(`${route.path}/{id}`),
      once: isOnce(route),
    }
    router.add(route.method, route.path, row)
    if (route.also !== undefined) router.add(route.method, route.also, row)
  }

  /**
   * The caller behind the token, where the request needs one; a promise only where the gate gives one, since every request
   * pays for a promise. Throws AppError 401.
   */
  function identify(request: Request, need: Need): Caller | null | Promise<Caller> {
    if (need === 'none') return null
    if (request.token === null) throw gate.unauthorized?.() ?? unauthorized()
    return gate.authenticate(request as Presented)
  }

  function find({ method, segments }: Request) {
    const found = router.find(method, segments)
    if (found === null)
      throw new AppError(
        'no_such_route',
        `There is no /${shown(segments)} here. GET ${DOCUMENT} ${readable.has(DOCUMENT) ? 'lists every route' : 'at a daemon lists the routes'}.`,
      )
    if ('allow' in found)
      throw new AppError(
        'method_not_allowed',
        `/${shown(segments)} does not take ${method}; it takes ${found.allow.join(', ')}.`,
        { headers: { Allow: found.allow.join(', ') } },
      )
    return found
  }

  /** What the row says of parameters and query; the answerer gets parsed values only. */
  function inputOf(row: Row, params: Record<string, string>, { query }: Request) {
    const { route } = row
    // Pages are opened from mails, whose clients append parameters of their own; everywhere else an unknown one is a mistake.
    if (route.query === undefined && (query === '' || row.media)) return params
    const schema = route.query ?? NOTHING
    const parsed = parse('query', schema, decodeQuery(schema, query)) as object
    return { ...params, ...parsed }
  }

  /** What the row says of the body, once it was read. */
  function parsedBody(route: Route, body: unknown): { body?: unknown } {
    // To valibot an array without required members is an object; no body here is one.
    if (Array.isArray(body)) throw invalid('body', [{ path: '', message: 'Expected an object.' }])
    if (route.body !== undefined) return { body: parse('body', route.body, body) }
    if (body !== undefined) parse('body', NOTHING, body)
    return {}
  }

  /** What a row says to good input; no promise more than it takes, as in `authorize`. */
  function valueOf(
    row: Row,
    input: object,
    caller: Caller | null,
    request: Request,
    act: Act | null,
  ): Promise<unknown> {
    const { answer } = row
    const context = gate.context(caller, request, act)
    return context instanceof Promise
      ? context.then((made: unknown) => answer(input, made))
      : answer(input, context)
  }

  function answerOf({ name, route, location, media }: Row, value: unknown): Answer {
    const { status = 200, path } = route
    const answer = { route: name, status, value, media }
    return status === 201 && location
      ? { ...answer, location: `${path}/${(value as { id: string }).id}` }
      : answer
  }

  const needOf = ({ method, path }: Pick<Route, 'method' | 'path'>) =>
    gate.need(method, segmentsOf(path))

  /**
   * The largest body that is read from a caller, in bytes.
   * @throws AppError insufficient_scope where the row calls another that the caller may not
   */
  function limitFor(route: Route, params: Record<string, string>, caller: Caller | null): number {
    const called = route.calls?.(params) ?? null
    if (called !== null && caller !== null)
      requireScope(caller.scope, needOf(called) as Standing, called.method, segmentsOf(called.path))
    const may = (other: Pick<Route, 'method' | 'path'>) =>
      caller !== null && isGranted(caller.scope, needOf(other))
    return route.limitOf?.(params, may) ?? route.limit ?? MIB
  }

  /** What a request that may be made is answered. */
  async function answerTo(
    request: Request,
    { value: row, params }: Found<Row>,
    caller: Caller | null,
  ): Promise<Answer> {
    const input = inputOf(row, params, request)
    const { route } = row
    if (route.method === 'GET')
      return answerOf(row, await valueOf(row, input, caller, request, null))
    const body = await request.body(limitFor(route, params, caller), kindOf(route))
    Object.assign(input, parsedBody(route, body))
    const key = row.once ? request.idempotencyKey : undefined
    const owner = key === undefined || caller === null ? undefined : gate.callerId?.(caller)
    if (key === undefined || owner === undefined || gate.once === undefined)
      return answerOf(row, await valueOf(row, input, caller, request, null))
    const fingerprint = fingerprintOf(request, withoutSecret(route, body))
    let shown: Answer | undefined
    const kept = await gate.once({ caller: owner, key, fingerprint }, async (act) => {
      shown = answerOf(row, await valueOf(row, input, caller, request, act))
      return { ...shown, value: withoutSecret(route, shown.value) }
    })
    return shown ?? kept
  }

  /** Tell what came of a request, where somebody listens; `found` is its row, where it got as far as that. */
  function record(
    request: Request,
    caller: Caller | null,
    found: Found<Row> | null,
    came: Came,
  ): void {
    if (gate.record === undefined) return
    const row = found ?? router.find(request.method, request.segments)
    gate.record({
      request,
      callerId: caller === null ? null : (gate.callerId?.(caller) ?? null),
      route: row !== null && 'value' in row ? row.value.name : null,
      ...came,
    })
  }

  /** Answer a request. Throws AppError for everything the caller should be told. */
  async function dispatch(request: Request): Promise<Answer> {
    const { method, segments } = request
    let caller: Caller | null = null
    let found: Found<Row> | null = null
    let answer: Answer
    try {
      const need = gate.need(method, segments)
      const known = identify(request, need)
      caller = known instanceof Promise ? await known : known
      if (caller !== null) requireScope(caller.scope, need as Standing, method, segments)
      found = find(request)
      answer = await answerTo(request, found, caller)
    } catch (error) {
      record(request, caller, found, failed(error))
      throw error
    }
    record(request, caller, found, succeeded(answer))
    return answer
  }

  return dispatch
}

export type Dispatch = ReturnType<typeof newDispatch>
