/**
 * Examples of errors.
 *
 * The test test/e2e/every-error.test.ts recorded these answers in `error-examples.json`.
 */
import { CODES, type Details, type ErrorCode } from '../../errors.ts'
import type { Server } from './errors.ts'
import recorded from './error-examples.json' with { type: 'json' }

/** The bodies of errors without the member `error`, by server and code. */
export type ErrorExamples = Readonly<
  Record<Server, Readonly<Partial<Record<ErrorCode, Details & { readonly message: string }>>>>
>

const EXAMPLES: ErrorExamples = recorded

/** Returns an example for each of these codes, by code. */
export function errorExamples(
  codes: ReadonlySet<ErrorCode>,
  server: Server,
): Record<string, unknown> {
  // An account server and a daemon answer many errors with the same message.
  const bodies = { ...EXAMPLES.daemon, ...EXAMPLES[server] }
  const wanted = CODES.filter((code) => codes.has(code))
  return Object.fromEntries(wanted.map((error) => [error, { value: { error, ...bodies[error] } }]))
}
