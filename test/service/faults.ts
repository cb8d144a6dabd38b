/** How calls to an account fail, at a local and at a remote server. */
import assert from 'node:assert/strict'
import type { Details } from '../../src/errors.ts'

/** The members that an AppError and the error of a remote account share. */
export interface Fault extends Error {
  readonly code?: unknown
  readonly details?: Details
  readonly headers?: Readonly<Record<string, string>>
}

/** Checks that a call is rejected with this code, and with this state if one is given. */
export const fails = (code: string, promise: Promise<unknown>, state?: string) =>
  assert.rejects(promise, (error: Fault) => {
    assert.equal(error.code, code, error.message)
    assert.equal(error.details?.state, state)
    return true
  })
