/**
 * The type of a table row, and the types derived from a table.
 *
 * The derived types state which rows a component must answer, and how a caller sees them. A row is
 * data, and other components read its fields: the router (method, path, also), the scope check
 * (method, path), the validator (query, body), the OpenAPI document (all fields), and the answer
 * (status, reply). The texts of the rows are in separate modules, which are loaded with the
 * documents.
 */
import type { GenericSchema, InferInput, InferOutput } from 'valibot'
import type { ErrorCode } from '../errors.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type RowSchema = GenericSchema

/** The content of an answer to a row that declares `media`. */
export interface Content {
  readonly type: string
  /** The status if it differs from the row's, for example on a page for a missing resource. */
  readonly status?: number
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>
  readonly headers?: Readonly<Record<string, string>>
  /** Set if this is an event stream that lasts, although those of its row need not. */
  readonly lasting?: true
}

interface Row {
  readonly method: Method
  /** The path. A parameter is a whole segment, written as `{id}`. */
  readonly path: `/${string}`
  /** A second path for the same route. */
  readonly also?: `/${string}`
  /**
   * The component that answers the row.
   *
   * `both`: the account answers, and then a handler of the same name adds data that only this
   * device has.
   */
  readonly by: 'daemon' | 'account' | 'both'
  /**
   * The error codes that do not follow from other fields; `openapi/errors.ts` derives the others.
   *
   * The daemon also passes on errors of the account server. In tests, an error with an undeclared
   * code fails (`test/declared-errors.ts`).
   */
  readonly errors?: readonly ErrorCode[]
  /**
   * For `both`: additional codes of the daemon's handler, which the account server never returns.
   */
  readonly handlerErrors?: readonly ErrorCode[]
  readonly query?: RowSchema
  readonly body?: RowSchema
  readonly status?: 200 | 201 | 202 | 204
  /** The maximum body size in bytes (default: 1 MiB). */
  readonly limit?: number
  /**
   * Returns the maximum body size in bytes if it depends on the path or the caller; at most
   * `limit`.
   *
   * `may` returns whether the caller's scope permits another route.
   */
  readonly limitOf?: (
    params: Readonly<Record<string, string>>,
    may: (route: Pick<Row, 'method' | 'path'>) => boolean,
  ) => number
  /**
   * Returns the route that this row calls for these parameters. The caller needs its scope too.
   *
   * That scope is checked before the body is read. Null if the check can wait until then.
   */
  readonly calls?: (params: Readonly<Record<string, string>>) => Pick<Row, 'method' | 'path'> | null
  /** Set if the body is a form (RFC 6749 appendix B) instead of JSON. */
  readonly form?: true
  /** Set if the body is passed on as text, because another protocol parses it. */
  readonly text?: true
  /** Set if the answer is an event stream that lasts until one side closes it. */
  readonly lasting?: true
  /** Set if the server mails a text to the caller, so that a device sends `Accept-Language`. */
  readonly localized?: true
  /**
   * Set if an `Idempotency-Key` must be ignored.
   *
   * The answer contains a secret that must not be stored, or repeating the operation is harmless.
   */
  readonly repeats?: true
  /**
   * The name of a member of the body and the answer that is a temporary secret.
   *
   * The member is not stored under an `Idempotency-Key`, and tools neither accept nor return it.
   */
  readonly secret?: string
  /**
   * Set if the device stores the account server's last answers, and uses them while the server is
   * away. The answer of the daemon then has `as_of`. The answer must contain no secret, no link
   * that grants access, and no data of an organisation.
   */
  readonly copied?: true
}

/** The errors of a row by `daemon` if its handler calls the account server. */
export const BACKEND_ERRORS = [
  'not_signed_in',
  'rate_limited',
  'backend_error',
  'backend_unavailable',
  'backend_timeout',
] as const satisfies readonly ErrorCode[]

/** The content of an answer: JSON (`reply`), one of these media types (`media`), or nothing. */
type Answered =
  | { readonly reply?: RowSchema; readonly media?: never }
  | { readonly reply?: never; readonly media: readonly string[] }

export type Route = Row & Answered

/** Whether a row honours an `Idempotency-Key`. Answers with `media` are not stored. */
export const isOnce = (route: Route): boolean =>
  route.method === 'POST' && route.repeats !== true && route.media === undefined

/** Returns the paths of a route: `path`, and `also` if there is one. */
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

/** What the answering function of row R gets: path parameters, query and body, with defaults. */
export type Parsed<R extends { path: string }> = Flat<
  Params<R['path']> &
    ([Query<R>] extends [never] ? unknown : InferOutput<Query<R>>) &
    ([Body<R>] extends [never] ? unknown : { body: InferOutput<Body<R>> })
>

/** What a caller of row R passes: like `Parsed`, but members with defaults may be omitted. */
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
 * The functions that answer the rows of T that belong to By, each with a context C.
 *
 * The types are written inline, so that compiler errors stay short.
 */
export type Answers<T, By, C> = {
  [N in Groups<T, By>]: {
    [K in Rows<T[N], By>]: T[N][K] extends infer R extends { path: string }
      ? (input: Parsed<R>, context: C) => Promise<Reply<R>>
      : never
  }
}

/**
 * The same rows as functions for callers.
 *
 * The interface to the account, the remote client, the command line and the tests use them.
 */
export type Calls<T, By> = {
  [N in Groups<T, By>]: {
    [K in Rows<T[N], By>]: T[N][K] extends infer R extends { path: string }
      ? (input: Sent<R>) => Promise<Reply<R>>
      : never
  }
}
