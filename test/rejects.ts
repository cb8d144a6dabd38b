/** The check of a call that must fail with an error of the interface. */
import assert from 'node:assert/strict'
import { AppError, type Details, type ErrorCode } from '../src/errors.ts'

export type Call = Promise<unknown> | (() => unknown)

/**
 * Asserts that a call is rejected with this code.
 * @param wanted `says`: a pattern for the message; else members of the error’s details. An error
 *   has the state that is given here, and none if none is given.
 * @returns the error, for further checks
 */
export async function rejects(
  code: ErrorCode,
  call: Call,
  wanted: Omit<Details, 'state'> & {
    readonly state?: string | undefined
    readonly says?: RegExp
  } = {},
): Promise<AppError> {
  const { says, ...details } = { state: undefined, ...wanted }
  const error = await (async () => (typeof call === 'function' ? call() : call))().then(
    () => assert.fail(`It was not rejected with ${code}.`),
    (thrown: unknown) => thrown,
  )
  assert(error instanceof AppError, String(error))
  assert.equal(error.code, code, error.message)
  if (says !== undefined) assert.match(error.message, says)
  const seen = Object.keys(details).map((name) => [name, error.details[name as keyof Details]])
  assert.deepEqual(Object.fromEntries(seen), details)
  return error
}
