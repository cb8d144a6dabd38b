/**
 * Determines whether the account server is reachable.
 *
 * It uses the outcome of this daemon's latest call. If that call is too old, it sends one request
 * to the server's health route.
 */
import { setTimeout } from 'node:timers/promises'
import { AppError } from '../../errors.ts'

/** The maximum age of an outcome that counts as current, in milliseconds. */
const FRESH_MS = 5_000
/** How long `read` waits for a response of the health route, in milliseconds. */
const PATIENCE_MS = 500

/** Returns whether an error means that the account server does not answer. */
export const isAway = (error: unknown): boolean =>
  error instanceof AppError &&
  (error.code === 'backend_unavailable' || error.code === 'backend_timeout')

export interface Reached {
  /** Null if unknown: no call was made, and the health route has not responded yet. */
  readonly reachable: boolean | null
  /** When the first call failed after the last success, Unix milliseconds; null if none failed. */
  readonly since: number | null
}

export interface Reachability {
  /** Records that a call begins. `end` must follow. */
  readonly begin: () => void
  /** Records that a call ended: the thrown error, or null for a response. */
  readonly end: (error: unknown) => void
  /** Records the outcome of a call: the thrown error, or null for a response. */
  readonly note: (error: unknown) => void
  /** Returns the current state within half a second, even if the server does not answer. */
  readonly read: () => Promise<Reached>
  /** Returns the state by the latest call, without a request. */
  readonly last: () => LastOutcome
}

interface LastOutcome {
  /** When the first call failed after the last success, Unix milliseconds; null if none failed. */
  readonly since: number | null
  /** Whether the latest outcome is recent enough to be relied on. */
  readonly isFresh: boolean
  /** How many calls have had a response. */
  readonly responses: number
  /** How many calls wait for their outcome. */
  readonly pending: number
}

/**
 * Creates the reachability check of an account server.
 * @param of `ready` sends a request to the health route and rejects if there is no response; `now`
 *   returns Unix milliseconds
 */
export function newReachability(of: {
  ready: () => Promise<unknown>
  now: () => number
}): Reachability {
  const { ready, now } = of
  let knownAt: number | null = null
  let since: number | null = null
  let asking: Promise<void> | null = null
  let responses = 0
  let pending = 0

  const isFresh = () => knownAt !== null && now() - knownAt < FRESH_MS

  function answered(): void {
    responses++
    since = null
    knownAt = now()
  }
  function failed(): void {
    since ??= now()
    knownAt = now()
  }

  function note(error: unknown): void {
    if (error === null) return answered()
    if (!(error instanceof AppError)) return
    if (isAway(error)) return failed()
    // backend_error does not decide: it may be a wrong certificate, a proxy's page or an unknown
    // format.
    if (error.code !== 'backend_error') answered()
  }

  return {
    begin: () => void pending++,
    end(error) {
      pending--
      note(error)
    },
    note,
    last: () => ({ since, isFresh: isFresh(), responses, pending }),
    async read() {
      if (!isFresh()) {
        asking ??= ready()
          .then(answered, failed)
          .finally(() => {
            asking = null
          })
        const patience = new AbortController()
        const { signal } = patience
        await Promise.race([
          asking,
          setTimeout(PATIENCE_MS, undefined, { signal }).catch(() => undefined),
        ])
        patience.abort()
      }
      if (since !== null) return { reachable: false, since }
      return { reachable: isFresh() ? true : null, since: null }
    },
  }
}
