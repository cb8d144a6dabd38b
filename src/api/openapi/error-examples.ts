/**
 * Examples of errors: answers that test/e2e/every-error.test.ts recorded into
 * `error-examples.json`.
 */
import { CODES, type Details, type ErrorCode } from '../../errors.ts'
import type { Server } from './errors.ts'
import recorded from './error-examples.json' with { type: 'json' }

/** The bodies of errors by server and code, without their member `error`. */
export type ErrorExamples = Readonly<
  Record<Server, Readonly<Partial<Record<ErrorCode, Details & { readonly message: string }>>>>
>

const EXAMPLES: ErrorExamples = recorded

/** Returns an example of each of these codes, by code. */
export function errorExamples(
  codes: ReadonlySet<ErrorCode>,
  server: Server,
): Record<string, unknown> {
  // An account server answers many errors in the same words as a daemon.
  const bodies = { ...EXAMPLES.daemon, ...EXAMPLES[server] }
  const wanted = CODES.filter((code) => codes.has(code))
  return Object.fromEntries(wanted.map((error) => [error, { value: { error, ...bodies[error] } }]))
}
