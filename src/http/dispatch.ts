/**
 * Dispatches a request: checks the caller, finds the row, validates the input, calls the answer.
 *
 * Of HTTP, the dispatcher uses only the method and the path. The HTTP server and the tools both
 * call it.
 */
import { hash } from 'node:crypto'
import { channel } from 'node:diagnostics_channel'
import { strictObject } from 'valibot'
import { invalid, parse } from '../api/input.ts'
import { type Content, type Route, type Table, everyPath, isOnce } from '../api/route.ts'
import { rowsOf } from '../api/rows.ts'
import { type Need, type AccessLevel, isGranted, requireScope } from '../auth/scopes.ts'
import { redact } from '../crypto/encoding/redact.ts'
import { AppError, type ErrorCode, statusOf, toAppError } from '../errors.ts'
import { decodeQuery } from './query.ts'
import { ROW_FAILURES, type RowFailure } from './row-failures.ts'
import { type RouteMatch, newRouter } from '../router.ts'
import type { Act, Once } from '../storage/idempotency.ts'

/** How a request reached the daemon. */
export type RequestChannel = 'tcp' | 'socket'

/** How a body is parsed. */
type BodyKind = 'json' | 'form' | 'text'

export interface Request {
  /** The request id, which is also in the response and in the log. */
  readonly id: string
  /**
   * Returns the uid of the process at the other end of the connection; null if it is unknown.
   *
   * The server looks the uid up only if it is needed, because the look-up is a system call.
   */
  readonly peer: () => number | null
  /** Absent if the request did not arrive over a connection. */
  readonly channel?: RequestChannel
  readonly method: string
  readonly segments: readonly string[]
  readonly query: string
  /** The accepted media types (RFC 9110 section 12.5.1); empty if the caller did not send any. */
  readonly accept: string
  /** The token; null if the request has none. */
  readonly token: string | null
  /** SHA-256 of the token in hex, if it has been computed already. */
  readonly digest?: string
  /**
   * How the token was sent: as a bearer token (RFC 6750, the default), or bound to a key (RFC
   * 9449).
   */
  readonly scheme?: 'Bearer' | 'DPoP'
  /**
   * A proof that the caller has a key (RFC 9449), if the request contains one.
   *
   * The scheme DPoP requires a proof.
   */
  readonly proof?: string | undefined
  /**
   * The thumbprint of the key that was proven.
   *
   * The gate sets it, so that a request that this request causes needs no proof of its own.
   */
  proven?: string
  /**
   * The method and the path, as in the table; null if the table has no such row.
   *
   * The dispatcher sets it, so that the server can count requests that fail too.
   */
  routeName?: string | null | undefined
  /** The `Idempotency-Key`, if the request has one. */
  readonly idempotencyKey?: string | undefined
  /**
   * Returns a header field by its lower-case name, for rows with a body that is passed on as text.
   */
  readonly header?: (name: string) => string | undefined
  /**
   * Reads a body of at most `limit` bytes.
   *
   * Returns parsed JSON (undefined if there is no body), a form as an object of strings, or text.
   */
  body(limit: number, as?: BodyKind): Promise<unknown>
}

/** A request that has a token. */
type Presented = Request & { readonly token: string }

interface DispatchResult {
  /** The method and the path, as in the table. */
  readonly route: string
  readonly status: number
  /** The value described by the row's `reply` or `media`; undefined for 204. */
  readonly value: unknown
  readonly media: boolean
  /** Whether the value is a stream that lasts. */
  readonly lasting: boolean
  /** The path of the resource that a 201 created; absent if the resource cannot be read. */
  readonly location?: string
}

/** The outcome of a request. */
export interface Outcome {
  readonly request: Pick<Request, 'id' | 'peer' | 'channel'>
  /** The id from `Gate.callerId`; null if no caller was recognised or none was needed. */
  readonly callerId: string | null
  /** The method and the path, as in the table; null if the table has no such row. */
  readonly route: string | null
  readonly status: number
  /** The code of the error; null if the request succeeded. */
  readonly error: ErrorCode | null
  /** The id of the resource that a 201 created. */
  readonly created: string | undefined
}

/** The access control of a table: its scope table, and how callers are authenticated. */
export interface Gate<Caller extends { readonly scope: AccessLevel }> {
  need(method: string, segments: readonly string[]): Need
  /**
   * Returns the caller that a token belongs to.
   * @throws AppError 401 if the token is invalid, or was sent in the wrong way
   */
  authenticate(request: Presented): Caller | Promise<Caller>
  /** Returns the error for a missing token (default: the daemon's error). */
  unauthorized?(): AppError
  /**
   * Returns the context that an answering function gets besides its input.
   *
   * It returns a promise only if necessary.
   * @param caller null on a public route
   * @param act the operation that the request belongs to, if the request may be repeated; otherwise
   * null
   */
  context(caller: Caller | null, request: Request, act: Act | null): unknown
  /**
   * Runs a request with an Idempotency-Key only once.
   *
   * If `once` or `callerId` is missing, the header field is ignored.
   */
  readonly once?: Once
  /**
   * Returns the owner of a caller's idempotency keys.
   *
   * It must be unique among all callers, and the same in every request of one caller.
   */
  callerId?(caller: Caller): string
  /** Called with the outcome of every request, before the response is sent. */
  record?(outcome: Outcome): void
}

const rowFailures = channel(ROW_FAILURES)

type Answerer = (input: unknown, context: unknown) => Promise<unknown>
type Answerers = Readonly<Record<string, Readonly<Record<string, Answerer>>>>

interface Row {
  readonly route: Route
  /** The method and the path. */
  readonly name: string
  readonly answer: Answerer
  readonly media: boolean
  readonly location: boolean
  /** Whether the row honours an Idempotency-Key. */
  readonly once: boolean
}

const MIB = 1024 * 1024
const NOTHING = strictObject({})
const DOCUMENT = '/api/v1/openapi.json'

type Came = Pick<Outcome, 'status' | 'error' | 'created'>

function failed(cause: unknown): Came & { readonly error: ErrorCode } {
  const { code } = toAppError(cause)
  return { status: statusOf(code), error: code, created: undefined }
}

function succeeded({
  status,
  value,
  media,
}: Pick<DispatchResult, 'status' | 'value' | 'media'>): Came {
  const { id, status: own } = (value ?? {}) as { id?: unknown; status?: unknown }
  return {
    // Media have their own status: they can be a stream, a page, or the rejection by another
    // protocol.
    status: media && typeof own === 'number' ? own : status,
    error: null,
    created: status === 201 && typeof id === 'string' ? id : undefined,
  }
}

const unauthorized = () =>
  new AppError(
    'unauthorized',
    'This route needs a token. Send "Authorization: Bearer <token>". POST /api/v1/token creates a token.',
    // RFC 6750 section 3: a challenge has no error code if the request had no credentials.
    { headers: { 'WWW-Authenticate': 'Bearer' } },
  )

/**
 * Returns a path for an error message. It is redacted, because a client may have put a token there.
 */
const shown = (segments: readonly string[]) => redact(segments.join('/'))

/**
 * Returns the SHA-256 (hex) of method, path, query and body.
 *
 * It shows whether two requests with the same Idempotency-Key are equal.
 */
const fingerprintOf = ({ method, segments, query }: Request, body: unknown): string =>
  hash('sha256', JSON.stringify([method, segments, query, body ?? null]), 'hex')

/** Returns a body or an answer without the secret member that the row declares, if any. */
function withoutSecret({ secret }: Route, value: unknown): unknown {
  if (secret === undefined || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== secret))
}

const segmentsOf = (path: string): string[] => path.slice(1).split('/')

const kindOf = ({ form, text }: Route): BodyKind =>
  form === true ? 'form' : text === true ? 'text' : 'json'

/**
 * Creates the dispatcher of a table.
 * @param answerers the answering functions of all rows, by group and name. Callers must pass values
 * of the mapped types, with which the compiler checks that none is missing.
 */
export function newDispatch<Caller extends { readonly scope: AccessLevel }>(
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
    for (const path of everyPath(route)) router.add(route.method, path, row)
  }

  /**
   * Returns the caller of a request; null if the request needs none.
   *
   * Returns a promise only if the gate does, because every request would pay for an additional
   * promise.
   * @throws AppError 401
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
        `/${shown(segments)} does not support ${method}. It supports ${found.allow.join(', ')}.`,
        { headers: { Allow: found.allow.join(', ') } },
      )
    return found
  }

  /** Returns the path parameters and the parsed query. */
  function inputOf(row: Row, params: Record<string, string>, { query }: Request) {
    const { route } = row
    // A page accepts any query, because mail clients add parameters to the links that they open. On
    // other routes, an unknown parameter is a mistake.
    if (route.query === undefined && (query === '' || row.media)) return params
    const schema = route.query ?? NOTHING
    const parsed = parse('query', schema, decodeQuery(schema, query)) as object
    return { ...params, ...parsed }
  }

  /** Parses a body with the schema of its row. */
  function parsedBody(route: Route, body: unknown): { body?: unknown } {
    // valibot accepts an array for an object schema without required members, but no body may be an
    // array.
    if (Array.isArray(body)) throw invalid('body', [{ path: '', message: 'Expected an object.' }])
    if (route.body !== undefined) return { body: parse('body', route.body, body) }
    if (body !== undefined) parse('body', NOTHING, body)
    return {}
  }

  /** Calls the answering function of a row. Creates an additional promise only if necessary. */
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

  function answerOf({ name, route, location, media }: Row, value: unknown): DispatchResult {
    const { status = 200, path } = route
    const lasting = (route.lasting ?? (media && (value as Content).lasting)) === true
    const answer = { route: name, status, value, media, lasting }
    return status === 201 && location
      ? { ...answer, location: `${path}/${(value as { id: string }).id}` }
      : answer
  }

  const needOf = ({ method, path }: Pick<Route, 'method' | 'path'>) =>
    gate.need(method, segmentsOf(path))

  /**
   * Returns the maximum body size for a caller, in bytes.
   * @throws AppError `insufficient_scope` if the row calls another row that the caller may not call
   */
  function limitFor(route: Route, params: Record<string, string>, caller: Caller | null): number {
    const called = route.calls?.(params) ?? null
    if (called !== null && caller !== null)
      requireScope(
        caller.scope,
        needOf(called) as AccessLevel,
        called.method,
        segmentsOf(called.path),
      )
    const may = (other: Pick<Route, 'method' | 'path'>) =>
      caller !== null && isGranted(caller.scope, needOf(other))
    return route.limitOf?.(params, may) ?? route.limit ?? MIB
  }

  /** Validates and answers a request after its caller was authorised. */
  async function answerTo(
    request: Request,
    { value: row, params }: RouteMatch<Row>,
    caller: Caller | null,
  ): Promise<DispatchResult> {
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
    let shown: DispatchResult | undefined
    const answer = await gate.once({ caller: owner, key, fingerprint }, async (act) => {
      shown = answerOf(row, await valueOf(row, input, caller, request, act))
      return { ...shown, value: withoutSecret(route, shown.value) }
    })
    return shown ?? answer
  }

  /** Returns the row of a request that failed before its row was found; null if there is none. */
  function rowOf({ method, segments }: Request): Row | null {
    const match = router.find(method, segments)
    return match !== null && 'value' in match ? match.value : null
  }

  /** Passes the outcome of a request to the gate, if the gate records outcomes. */
  function record(request: Request, caller: Caller | null, row: Row | null, came: Came): void {
    if (gate.record === undefined) return
    gate.record({
      request,
      callerId: caller === null ? null : (gate.callerId?.(caller) ?? null),
      route: row?.name ?? null,
      ...came,
    })
  }

  /** Publishes an error of a row on the diagnostics channel, if the channel has subscribers. */
  function publish(row: Row | null, code: ErrorCode): void {
    if (row === null || !rowFailures.hasSubscribers) return
    const failure: RowFailure = { table, route: row.route, need: needOf(row.route), code }
    rowFailures.publish(failure)
  }

  /**
   * Answers a request.
   * @throws AppError for every failure that the caller should see
   */
  async function dispatch(request: Request): Promise<DispatchResult> {
    const { method, segments } = request
    let caller: Caller | null = null
    let row: Row | null = null
    let answer: DispatchResult
    try {
      const need = gate.need(method, segments)
      const known = identify(request, need)
      caller = known instanceof Promise ? await known : known
      if (caller !== null) requireScope(caller.scope, need as AccessLevel, method, segments)
      const found = find(request)
      row = found.value
      request.routeName = row.name
      answer = await answerTo(request, found, caller)
    } catch (error) {
      row ??= rowOf(request)
      request.routeName = row?.name ?? null
      const came = failed(error)
      record(request, caller, row, came)
      publish(row, came.error)
      throw error
    }
    record(request, caller, row, succeeded(answer))
    return answer
  }

  return dispatch
}

export type Dispatch = ReturnType<typeof newDispatch>
