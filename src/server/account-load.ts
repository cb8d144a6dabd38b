/**
 * What one account may ask of an account server: so many requests at the same moment, at each replica,
 * and so many writes in a minute, at all replicas together.
 */
import type { Dispatch, Request } from '../dispatch.ts'
import { AppError } from '../errors.ts'

/** A daemon asks for a few at once; a script with many connections asks through its daemon. */
export const MOST_IN_FLIGHT = 128

const READS = new Set(['GET', 'HEAD'])

const tooMany = () =>
  new AppError(
    'rate_limited',
    `Too many requests at once: an account may have ${MOST_IN_FLIGHT} in flight. Wait for the answers, then try again.`,
    { headers: { 'Retry-After': '1' } },
  )

/** @param takeWrite counts a write of an account; throws AppError `rate_limited` */
export function newAccountLoad(takeWrite: (account: string) => Promise<void>) {
  const inFlight = new Map<string, number>()
  const callers = new WeakMap<Request, string>()

  function leave(account: string): void {
    const left = inFlight.get(account)! - 1
    if (left === 0) inFlight.delete(account)
    else inFlight.set(account, left)
  }

  return {
    /** Admits a request of an account. Throws AppError `rate_limited`, with Retry-After. */
    async enter(request: Request, account: string): Promise<void> {
      const before = inFlight.get(account) ?? 0
      if (before >= MOST_IN_FLIGHT) throw tooMany()
      inFlight.set(account, before + 1)
      callers.set(request, account)
      if (!READS.has(request.method)) await takeWrite(account)
    },

    /** A dispatcher that counts a request as in flight until it is answered. */
    counting:
      (dispatch: Dispatch): Dispatch =>
      async (request) => {
        try {
          return await dispatch(request)
        } finally {
          const account = callers.get(request)
          if (account !== undefined) leave(account)
        }
      },
  }
}

export type AccountLoad = ReturnType<typeof newAccountLoad>
