/** Trying again: what may pass is asked a few times, further and further apart, and never so that an act is done twice. */
import { AppError } from '../errors.ts'
import { Passing } from './faults.ts'

/** The waits between attempts at most, in milliseconds; each is cut by up to a half, so that many clients do not march in step. */
const WAITS_MS = [400, 1_000, 2_000]
/** A server that wants to be left alone for longer than this is not waited for. */
const LONGEST_AFTER_MS = 5_000

export interface Trying {
  /** Whether a request that the server may have got may be sent again. */
  readonly repeatable: boolean
  /** Ends after so many milliseconds, or early when the signal is given. */
  readonly wait: (ms: number) => Promise<unknown>
  /** What is known of the server, by all its requests. */
  readonly outage: Outage
}

/** While the server is known to be away, each request finds that out once and makes nobody wait. */
export interface Outage {
  known: boolean
}

/**
 * Attempt until it goes well, or fails for good.
 * @param attempt is told whether an earlier attempt may have been acted on
 * @throws AppError of the last attempt
 */
export async function persist<T>(
  attempt: (again: boolean) => Promise<T>,
  { repeatable, wait, outage }: Trying,
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
        // A renewal inside the attempt has its own attempts; a time-out is worth no other.
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
