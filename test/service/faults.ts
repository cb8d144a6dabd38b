/** How a call to an account fails, whoever answers it. */
import assert from 'node:assert/strict'
import type { Details } from '../../src/errors.ts'

/** What both an AppError and a remote account's error show. */
export interface Fault extends Error {
  readonly code?: unknown
  readonly details?: Details
  readonly headers?: Readonly<Record<string, string>>
}

/** Rejects with this code, and this state where one is given. */
export const fails = (code: string, promise: Promise<unknown>, state?: string) =>
  assert.rejects(promise, (error: Fault) => {
    assert.equal(error.code, code, error.message)
    assert.equal(error.details?.state, state)
    return true
  })
