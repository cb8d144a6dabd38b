/**
 * Recorded answers of a daemon, by operation. test/e2e/every-route.test.ts writes
 * `examples.json`: `UPDATE_EXAMPLES=1 node --test test/e2e/every-route.test.ts`.
 */

/** A request and its answer. */
export interface Example {
  /** The path parameters. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** The media type of the answer; absent if it has no content. */
  readonly type?: string
  readonly reply?: unknown
}

/** Examples by group and row, such as `connections_create`. */
export type Examples = Readonly<Record<string, Example>>
