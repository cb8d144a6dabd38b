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

export interface Reached {
  /** Null if unknown: no call was made, and the health route has not responded yet. */
  readonly reachable: boolean | null
  /** When the first call failed after the last success, Unix milliseconds; null if none failed. */
  readonly since: number | null
}

export interface Reachability {
  /** Records the outcome of a call: the thrown error, or null for a response. */
  readonly note: (error: unknown) => void
  /** Returns the current state within half a second, even if the server does not answer. */
  readonly read: () => Promise<Reached>
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

  function answered(): void {
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
    const { code } = error
    if (code === 'backend_unavailable' || code === 'backend_timeout') return failed()
    // backend_error does not decide: it may be a wrong certificate, a proxy's page or an unknown
    // format.
    if (code !== 'backend_error') answered()
  }

  return {
    note,
    async read() {
      if (knownAt === null || now() - knownAt >= FRESH_MS) {
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
      const isKnown = knownAt !== null && now() - knownAt < FRESH_MS
      return { reachable: isKnown ? true : null, since: null }
    },
  }
}
