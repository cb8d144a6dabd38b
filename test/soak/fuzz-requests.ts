/** Generates requests for a row of the table, valid and invalid by its schemas. */
import fc, { type Arbitrary } from 'fast-check'
import { everyPath, pathNames, type Route } from '../../src/api/route.ts'
import type { Need } from '../../src/auth/scopes.ts'
import { type Known, collectionOf } from './fuzz-known.ts'
import { inputFor, membersFor } from './fuzz-schemas.ts'
import { ODD_SEGMENTS, mutated, mutatedQuery } from './fuzz-mutations.ts'

/**
 * The caller: a token of this scope, a machine account, a device’s session, a made-up token, or
 * none.
 */
export type Who = 'read' | 'write' | 'full' | 'machine' | 'session' | 'unknown' | 'nobody'

export type Listener = 'api' | 'account'

export interface Row {
  readonly name: string
  readonly at: Listener
  readonly route: Route
  readonly need: Need
}

/** A request without the parts that are made when it is sent: tokens and proofs. */
export interface Asked {
  readonly method: string
  readonly target: string
  readonly who: Who
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | null
}

/** Generates the usual value in most cases. */
export const often = <T>(weight: number, usual: Arbitrary<T>, other: Arbitrary<T>): Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, { weight: 1, arbitrary: other })

/** The callers at a listener, with their frequencies. */
export const WHO: Readonly<
  Record<Listener, readonly { weight: number; arbitrary: Arbitrary<Who> }[]>
> = {
  api: [
    { weight: 14, arbitrary: fc.constant('full') },
    { weight: 2, arbitrary: fc.constantFrom('read', 'write') },
    { weight: 2, arbitrary: fc.constant('machine') },
    { weight: 1, arbitrary: fc.constantFrom('nobody', 'unknown') },
  ],
  account: [
    { weight: 10, arbitrary: fc.constant('session') },
    { weight: 6, arbitrary: fc.constant('machine') },
    { weight: 1, arbitrary: fc.constantFrom('nobody', 'unknown') },
  ],
}

const whoFor = ({ at, need }: Row): Arbitrary<Who> =>
  need === 'none'
    ? often<Who>(8, fc.constant('nobody'), fc.oneof(...WHO[at]))
    : fc.oneof(...WHO[at])

/**
 * Generates values of a path parameter: an id listed at the path before it, a value of its name,
 * any id, or an unused one.
 */
export function segmentFor(name: string, before: string, known: Known): Arbitrary<string> {
  const nobody = `${name.slice(0, 3)}_01k9zzzzzzzzzzzzzzzzzzzzzz`
  const reusedId = (ring: string) =>
    fc.nat().map((at) => known.one(ring, at, known.one('id', at, nobody)))
  const own = reusedId(`/${collectionOf(before)}`)
  return fc.oneof(
    { weight: 8, arbitrary: own },
    {
      weight: 3,
      arbitrary: fc.oneof(reusedId(`${name.slice(0, 3)}_`), reusedId(name), reusedId('/members')),
    },
    { weight: 1, arbitrary: reusedId('id') },
    { weight: 1, arbitrary: ODD_SEGMENTS },
    {
      weight: 1,
      arbitrary: fc.tuple(own, fc.nat({ max: 4 })).map(([id, how]) => misspelt(id, how)),
    },
  )
}

const misspelt = (id: string, how: number): string =>
  [id.toUpperCase(), id.slice(0, -1), `${id}0`, `xxx${id.slice(3)}`, id.replace(/.$/, 'u')][
    how
  ] as string

function pathFor(route: Route, known: Known): Arbitrary<string> {
  const paths = everyPath(route).map((path) => {
    const parameters = pathNames(path).map((name) =>
      segmentFor(name, path.slice(0, path.indexOf(`{${name}}`)), known),
    )
    return fc.tuple(...parameters).map((values) => {
      let next = 0
      return path.replace(/{\w+}/g, () => values[next++] as string)
    })
  })
  return often(
    60,
    fc.oneof(...paths),
    fc
      .tuple(fc.oneof(...paths), ODD_SEGMENTS, fc.nat({ max: 3 }))
      .map(
        ([path, odd, how]) =>
          [`${path}/${odd}`, `/${odd}${path}`, path.toUpperCase(), `${path}/`][how] as string,
      ),
  )
}

/** Returns an object’s members as a query string. */
const queryOf = (values: object): string =>
  new URLSearchParams(
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .flatMap(([name, value]: [string, unknown]) =>
        (Array.isArray(value) ? value : [value]).map((one): [string, string] => [
          name,
          // Values without a text form, such as an object without a prototype.
          typeof one === 'object' ? (JSON.stringify(one) ?? '') : String(one),
        ]),
      ),
  ).toString()

function queryFor({ query }: Route, known: Known): Arbitrary<string> {
  const good = membersFor(query, known).map(queryOf)
  return query === undefined
    ? often(30, good, mutatedQuery(good))
    : often(3, good, mutatedQuery(good))
}

/** Returns the text of a body in the encoding that its row reads. */
const textOf = ({ form }: Route, value: unknown): string | null => {
  if (value === undefined) return null
  return form === true && typeof value === 'object' && value !== null
    ? queryOf(value)
    : JSON.stringify(value)
}

const ODD_HEADERS = fc.constantFrom<[string, string]>(
  ['Accept', 'text/event-stream'],
  ['Accept', 'image/gif, */*;q=0.1'],
  ['Accept', '\xff'],
  ['Origin', 'null'],
  ['Origin', 'http://localhost:3000'],
  ['Sec-Fetch-Site', 'cross-site'],
  ['Idempotency-Key', ''],
  ['Idempotency-Key', 'k'.repeat(201)],
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Encoding', 'gzip'],
  ['Expect', 'x'],
  ['Upgrade', 'h2c'],
  ['X', 'x'.repeat(17_000)],
  ['If-None-Match', '*'],
  ['Range', 'bytes=0-1'],
  ['Cookie', 'a=b'],
  ['MCP-Protocol-Version', '2026-07-28'],
  ['Mcp-Session-Id', 'x'],
)
const KEYS = fc
  .constantFrom('again', 'once', 'a'.repeat(200))
  .map((key): [string, string] => ['Idempotency-Key', key])

const headersFor: Arbitrary<[string, string][]> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<[string, string][]>([]) },
  { weight: 2, arbitrary: KEYS.map((key) => [key]) },
  { weight: 1, arbitrary: fc.array(ODD_HEADERS, { minLength: 1, maxLength: 2 }) },
)

const METHODS = fc.constantFrom(
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
)

const typeOf = ({ form }: Route) =>
  form === true ? 'application/x-www-form-urlencoded' : 'application/json'

interface Parts {
  readonly path: string
  readonly query: string
  readonly body: string | null
  readonly who: Who
  readonly headers: [string, string][]
  readonly method: string
}

const assembled = (route: Route, { path, query, body, who, headers, method }: Parts): Asked => ({
  method,
  target: query === '' ? path : `${path}?${query}`,
  who,
  headers: [
    ...(body === null || headers.some(([name]) => name === 'Content-Type')
      ? []
      : [['Content-Type', typeOf(route)] as const]),
    ...headers,
  ],
  body,
})

/** Generates any request to a row: about half of them valid by its schemas. */
export function requestFor(row: Row, known: Known): Arbitrary<Asked> {
  const { route } = row
  const good = route.body === undefined ? fc.constant(undefined) : inputFor(route.body, known)
  const junk = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom<unknown>({}, [], null, 'x', { nonsense: 1 }),
  )
  const bad = route.body === undefined ? junk : mutated(good)
  const bodies = often(route.body === undefined ? 12 : 1, good, bad)
  const parts = {
    path: pathFor(route, known),
    query: queryFor(route, known),
    body: bodies.map((value) => textOf(route, value)),
    who: whoFor(row),
    headers: headersFor,
    method: often(80, fc.constant(route.method as string), METHODS),
  }
  return fc.record(parts).map((made) => assembled(route, made))
}

/** Generates a valid request for a row: the input of the mutations of bytes. */
export function goodFor(row: Row, known: Known): Arbitrary<Asked> {
  const { route } = row
  const body = route.body === undefined ? fc.constant(undefined) : inputFor(route.body, known)
  return fc
    .record({
      path: pathFor(route, known),
      query: membersFor(route.query, known).map(queryOf),
      body: body.map((value) => textOf(route, value)),
      who: whoFor(row),
      headers: fc.constant<[string, string][]>([]),
      method: fc.constant(route.method as string),
    })
    .map((made) => assembled(route, made))
}
