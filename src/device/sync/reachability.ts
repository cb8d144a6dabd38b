/**
 * Whether the account server answers: by the outcome of this daemon's calls and, where the last one
 * is too old to say, by one question to its health route.
 */
import { setTimeout } from 'node:timers/promises'
import { AppError } from '../../errors.ts'

/** An older outcome is not current. */
const FRESH_MS = 5_000
/** How long `read` waits for an answer of the health route. */
const PATIENCE_MS = 500

export interface Reached {
  /** null while nothing is known: no call was made, and the health route has not answered yet. */
  readonly reachable: boolean | null
  /**
   * When the first call failed since the last that was answered, Unix milliseconds; null while none
   * did.
   */
  readonly since: number | null
}

export interface Reachability {
  /** Record the outcome of a call: `error` is what it threw, null for an answer. */
  readonly note: (error: unknown) => void
  /** The current state. Resolves within half a second, also if the server does not answer. */
  readonly read: () => Promise<Reached>
}

/**
 * Watch over an account server.
 * @param of `ready` asks its health route once, and rejects while it does not answer; `now` gives
 *   Unix milliseconds
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
    // A wrong certificate, a proxy's page, an answer of another form: it may be away or not.
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
