/**
 * Retries transient failures a few times, with growing waits, and never so that an operation is
 * done twice.
 */
import { AppError } from '../errors.ts'
import { Passing } from './faults.ts'

/**
 * The longest waits between attempts, in milliseconds. Each is shortened at random by up to a
 * half, so that many clients do not retry in step.
 */
const WAITS_MS = [400, 1_000, 2_000]
/** The longest requested wait, in milliseconds, after which a request is tried again. */
const LONGEST_AFTER_MS = 5_000

export interface RetryOptions {
  /** Whether a request that the server may have received may be sent again. */
  readonly repeatable: boolean
  /** Resolves after so many milliseconds, or early when the client is closed. */
  readonly wait: (ms: number) => Promise<unknown>
  /** The outage of the server, shared by all its requests. */
  readonly outage: Outage
}

/**
 * While the server is known to be unreachable, each request makes a single attempt, so that no
 * caller waits.
 */
export interface Outage {
  known: boolean
}

/**
 * Repeats an attempt until it succeeds or fails permanently.
 * @param attempt called with whether the server may have carried out an earlier attempt
 * @throws AppError of the last attempt
 */
export async function persist<T>(
  attempt: (again: boolean) => Promise<T>,
  { repeatable, wait, outage }: RetryOptions,
): Promise<T> {
  const waits = outage.known ? [] : WAITS_MS
  let again = false
  for (let tried = 0; ; tried++) {
    try {
      const value = await attempt(again)
      outage.known = false
      return value
    } catch (error) {
      if (!(error instanceof Passing)) {
        // A renewal inside the attempt has its own retries; a timeout is not retried.
        const { code = null, cause = null } = error instanceof AppError ? error : {}
        const isLate = code === 'backend_timeout' && !(cause instanceof AppError)
        outage.known = code === 'backend_unavailable' || isLate
        throw error
      }
      again ||= error.reached
      const most = waits[tried]
      if (most === undefined) outage.known = error.error.code === 'backend_unavailable'
      const isOver = most === undefined || error.afterMs > LONGEST_AFTER_MS
      if (isOver || (error.reached && !repeatable)) throw error.error
      await wait(Math.max(error.afterMs, most * (1 - Math.random() / 2)))
    }
  }
}
