/**
 * What a row of the table is, and the types that follow from a table: who must answer which rows, and how a caller sees them.
 * A row is data. A field stands here only because something reads it: the router (method, path, also), the scope check
 * (method, path), the validator (query, body), the OpenAPI document (all of it), the answer (status, reply).
 */
import type { GenericSchema, InferInput, InferOutput } from 'valibot'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type Schema = GenericSchema

/** What an answer to a row with `media` is made of. */
export interface Content {
  readonly type: string
  /** Where it is not the row's: a page that says in words that there is no such thing. */
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
  readonly summary: string
  /** `both`: the account answers and a handler of the same name adds what only this device knows. */
  readonly by: 'daemon' | 'account' | 'both'
  readonly query?: Schema
  readonly body?: Schema
  readonly status?: 200 | 201 | 202 | 204
  /** The largest body in bytes, where it is not the usual 1 MiB. */
  readonly limit?: number
  /**
   * The largest body in bytes, where it depends on the parameters of the path or on what the caller
   * may do; never more than `limit`. `may` is whether its scope is enough for another route.
   */
  readonly limitOf?: (
    params: Readonly<Record<string, string>>,
    may: (route: Pick<Row, 'method' | 'path'>) => boolean,
  ) => number
  /**
   * The route that the row calls in turn, for these parameters: the caller needs its scope too, which
   * is judged before the body is read. Null where that can wait.
   */
  readonly calls?: (params: Readonly<Record<string, string>>) => Pick<Row, 'method' | 'path'> | null
  /** The body comes as a form (RFC 6749 appendix B), not as JSON. */
  readonly form?: true
  /** The body is passed on as the text that it is: another protocol judges it. */
  readonly text?: true
  /** An `Idempotency-Key` is not heeded: the answer shows a secret that must not be kept, or the act is worth repeating. */
  readonly repeats?: true
  /**
   * A member of the body and of the answer that is a secret for a while. What is kept under an
   * `Idempotency-Key` does not have it, and tools neither take nor show it.
   */
  readonly secret?: string
}

/** What is answered: JSON, something else in one of these media types, or nothing. */
type Answered =
  | { readonly reply?: Schema; readonly media?: never }
  | { readonly reply?: never; readonly media: readonly string[] }

export type Route = Row & Answered

/** Whether an `Idempotency-Key` is heeded. A page is not kept. */
export const isOnce = (route: Route): boolean =>
  route.method === 'POST' && route.repeats !== true && route.media === undefined

/** The names of the parameters in a path. */
export const pathNames = (path: string): string[] =>
  [...path.matchAll(/{(\w+)}/g)].map(([, name]) => name as string)

export type Routes = Readonly<Record<string, Route>>
export type Table = Readonly<Record<string, Routes>>

type Flat<T> = { [K in keyof T]: T[K] }
type Params<P> = P extends `${string}{${infer K}}${infer R}`
  ? { [N in K]: string } & Params<R>
  : unknown
type Query<R> = R extends { query: infer Q extends Schema } ? Q : never
type Body<R> = R extends { body: infer B extends Schema } ? B : never
type Rows<G, By> = { [K in keyof G]: G[K] extends { by: By } ? K : never }[keyof G]
type Groups<T, By> = { [N in keyof T]: [Rows<T[N], By>] extends [never] ? never : N }[keyof T]

/** What an answerer of row R gets: path parameters, the query and the body, parsed, defaults filled in. */
export type Parsed<R extends { path: string }> = Flat<
  Params<R['path']> &
    ([Query<R>] extends [never] ? unknown : InferOutput<Query<R>>) &
    ([Body<R>] extends [never] ? unknown : { body: InferOutput<Body<R>> })
>

/** What a caller of row R gives: the same, where defaults may be left out. */
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
  : R extends { reply: infer S extends Schema }
    ? InferOutput<S>
    : void

/** The functions that answer the rows of T that are By's, each with context C. Inline, so that errors stay short. */
export type Answers<T, By, C> = {
  [N in Groups<T, By>]: {
    [K in Rows<T[N], By>]: T[N][K] extends infer R extends { path: string }
      ? (input: Parsed<R>, context: C) => Promise<Reply<R>>
      : never
  }
}

/** The same rows as a caller sees them: the port, the remote client, the command line, the tests. */
export type Calls<T, By> = {
  [N in Groups<T, By>]: {
    [K in Rows<T[N], By>]: T[N][K] extends infer R extends { path: string }
      ? (input: Sent<R>) => Promise<Reply<R>>
      : never
  }
}
