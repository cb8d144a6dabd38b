/**
 * What a daemon really answered, by operation. `examples.json` is recorded by test/e2e/every-route.test.ts:
 * `UPDATE_EXAMPLES=1 node --test test/e2e/every-route.test.ts` writes it anew.
 */

/** A question and the answer to it. */
export interface Example {
  /** What stands in the path. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** The media type of the answer; none where nothing comes. */
  readonly type?: string
  readonly reply?: unknown
}

/** By group and row: `connections_create`. */
export type Examples = Readonly<Record<string, Example>>
