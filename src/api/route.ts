/**
 * The type of a row of the table, and the types that follow from a table: which rows need an
 * answer, and how a caller sees them. A row is data. Each field has a reader: the router (method,
 * path, also), the scope check (method, path), the validator (query, body), the OpenAPI document
 * (all fields), the answer (status, reply). Its texts are in a module of their own, which is loaded
 * with the documents.
 */
import type { GenericSchema, InferInput, InferOutput } from 'valibot'
import type { ErrorCode } from '../errors.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type RowSchema = GenericSchema

/** The content of an answer to a row with `media`. */
export interface Content {
  readonly type: string
  /**
   * Set if it differs from the row's, for a page with the text that there is no such resource.
   */
  readonly status?: number
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>
  readonly headers?: Readonly<Record<string, string>>
}

interface Row {
  readonly method: Method
  /** Parameters are written `{id}`, each a whole segment. */
  readonly path: `/${string}`
  /** The second path of a route that is registered twice. */
  readonly also?: `/${string}`
  /**
   * `both`: the account answers, and a handler of the same name adds data that only this device
   * has.
   */
  readonly by: 'daemon' | 'account' | 'both'
  /**
   * The codes of its errors that follow from no other field; `openapi/errors.ts` derives the
   * others. The daemon passes on those of the account server. In tests, an error with any other
   * code fails (`test/declared-errors.ts`).
   */
  readonly errors?: readonly ErrorCode[]
  /** Further codes of a row by `both`: those of the handler, which the account server lacks. */
  readonly handlerErrors?: readonly ErrorCode[]
  readonly query?: RowSchema
  readonly body?: RowSchema
  readonly status?: 200 | 201 | 202 | 204
  /** The largest body in bytes, if it is not the default of 1 MiB. */
  readonly limit?: number
  /**
   * Returns the largest body in bytes, if it depends on the path parameters or on the caller's
   * scope; at most `limit`. `may` returns whether the scope is enough for another route.
   */
  readonly limitOf?: (
    params: Readonly<Record<string, string>>,
    may: (route: Pick<Row, 'method' | 'path'>) => boolean,
  ) => number
  /**
   * Returns the route that the row calls in turn, for these parameters: the caller needs its
   * scope too, which is checked before the body is read. Null if that check can wait.
   */
  readonly calls?: (params: Readonly<Record<string, string>>) => Pick<Row, 'method' | 'path'> | null
  /** The body is a form (RFC 6749 appendix B), not JSON. */
  readonly form?: true
  /** The body is passed on as text: another protocol parses it. */
  readonly text?: true
  /**
   * An `Idempotency-Key` is ignored: the answer contains a secret that must not be stored, or the
   * operation may be repeated.
   */
  readonly repeats?: true
  /**
   * A member of the body and of the answer that is a temporary secret. It is not stored under an
   * `Idempotency-Key`, and tools neither accept nor return it.
   */
  readonly secret?: string
}

/** The errors of a row by `daemon` whose handler calls the account server. */
export const BACKEND_ERRORS = [
  'not_signed_in',
  'rate_limited',
  'backend_error',
  'backend_unavailable',
  'backend_timeout',
] as const satisfies readonly ErrorCode[]

/** The content of an answer: JSON, one of these media types, or nothing. */
type Answered =
  | { readonly reply?: RowSchema; readonly media?: never }
  | { readonly reply?: never; readonly media: readonly string[] }

export type Route = Row & Answered

/** Returns whether an `Idempotency-Key` is honoured. A page is not stored. */
export const isOnce = (route: Route): boolean =>
  route.method === 'POST' && route.repeats !== true && route.media === undefined

/** Returns the paths of a route: one, or two for a route that is registered twice. */
export const everyPath = ({ path, also }: Pick<Route, 'path' | 'also'>): string[] =>
  also === undefined ? [path] : [path, also]

/** Returns the names of the parameters in a path. */
export const pathNames = (path: string): string[] =>
  [...path.matchAll(/{(\w+)}/g)].map(([, name]) => name as string)

export type Routes = Readonly<Record<string, Route>>
export type Table = Readonly<Record<string, Routes>>

type Flat<T> = { [K in keyof T]: T[K] }
type Params<P> = P extends `${string}{${infer K}}${infer R}`
  ? { [N in K]: string } & Params<R>
  : unknown
type Query<R> = R extends { query: infer Q extends RowSchema } ? Q : never
type Body<R> = R extends { body: infer B extends RowSchema } ? B : never
type Rows<G, By> = { [K in keyof G]: G[K] extends { by: By } ? K : never }[keyof G]
type Groups<T, By> = { [N in keyof T]: [Rows<T[N], By>] extends [never] ? never : N }[keyof T]

/** The input of an answerer of row R: path parameters, query and body, parsed, with defaults. */
export type Parsed<R extends { path: string }> = Flat<
  Params<R['path']> &
    ([Query<R>] extends [never] ? unknown : InferOutput<Query<R>>) &
    ([Body<R>] extends [never] ? unknown : { body: InferOutput<Body<R>> })
>

/** The input of a caller of row R: the same, but defaults may be omitted. */
export type Sent<R extends { path: string }> = Flat<
  Params<R['path']> &
    ([Query<R>] extends [never] ? unknown : InferInput<Query<R>>) &
    ([Body<R>] extends [never]
      ? unknown
      : undefined extends InferInput<Body<R>>
        ? { body?: InferInput<Body<R>> }
        : { body: InferInput<Body<R>> })
>

export type Reply<R> = R extends { media: readonly string[] }
  ? Content
  : R extends { reply: infer S extends RowSchema }
    ? InferOutput<S>
    : void

/**
 * The functions that answer the rows of T that belong to By, each with context C. Inline, so that
 * compiler errors stay short.
 */
export type Answers<T, By, C> = {
  [N in Groups<T, By>]: {
    [K in Rows<T[N], By>]: T[N][K] extends infer R extends { path: string }
      ? (input: Parsed<R>, context: C) => Promise<Reply<R>>
      : never
  }
}

/**
 * The same rows as a caller sees them: the interface to the account, the remote client, the
 * command line, the tests.
 */
export type Calls<T, By> = {
  [N in Groups<T, By>]: {
    [K in Rows<T[N], By>]: T[N][K] extends infer R extends { path: string }
      ? (input: Sent<R>) => Promise<Reply<R>>
      : never
  }
}
