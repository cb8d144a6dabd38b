/**
 * Recorded answers of a daemon, by operation.
 *
 * `UPDATE_EXAMPLES=1 node --test test/e2e/every-route.test.ts` writes them to `examples.json`.
 */

/** A request and its answer. */
export interface Example {
  /** The path parameters. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** The media type of the answer; absent if the answer has no content. */
  readonly type?: string
  readonly reply?: unknown
}

/** Examples by group and row. A key looks like `connections_create`. */
export type Examples = Readonly<Record<string, Example>>
