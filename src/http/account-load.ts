/**
 * Limits the requests of one device, and of one account, to an account server: the requests in
 * flight at each replica, and the writes per minute at all replicas together. An account has the
 * shares of four devices, so that one device cannot shut out the others.
 */
import type { Dispatch, Request } from './dispatch.ts'
import { AppError } from '../errors.ts'

interface Share {
  readonly inFlight: number
  readonly writes: number
}

/**
 * The limits of a device or a token. A daemon sends few requests at once; a script sends its
 * requests through its daemon.
 */
export const CALLER_SHARE: Share = { inFlight: 128, writes: 3000 }
export const ACCOUNT_SHARE: Share = {
  inFlight: 4 * CALLER_SHARE.inFlight,
  writes: 4 * CALLER_SHARE.writes,
}

const READS = new Set(['GET', 'HEAD'])

/**
 * Paths by which a device finds and ends another device or a session. They count towards the
 * calling device and not towards its account: stolen devices must not delay their own revocation.
 */
const REVOKING = new Set([
  'device/v1/key-logs',
  'device/v1/session',
  'api/v1/devices',
  'api/v1/sessions',
])

const tooMany = (most: number) =>
  new AppError(
    'rate_limited',
    `Too many requests at once: the limit is ${most} in flight. Wait for the answers, then try again.`,
    { headers: { 'Retry-After': '1' } },
  )

/** The ids of the account and of the calling token or device. */
interface Asking {
  readonly account: string
  readonly caller: string
}

/** Returns the shares that a request counts towards, by id. */
const sharesOf = ({ segments }: Request, { account, caller }: Asking) =>
  REVOKING.has(segments.slice(0, 3).join('/'))
    ? new Map([[caller, CALLER_SHARE]])
    : new Map([
        [account, ACCOUNT_SHARE],
        [caller, CALLER_SHARE],
      ])

/**
 * Creates the limits of one listener.
 * @param takeWrite counts a write of a device or an account; throws AppError `rate_limited`
 */
export function newAccountLoad(takeWrite: (subject: string, most: number) => Promise<void>) {
  const inFlight = new Map<string, number>()
  const entered = new WeakMap<Request, readonly string[]>()

  function leave(subject: string): void {
    const left = inFlight.get(subject)! - 1
    if (left === 0) inFlight.delete(subject)
    else inFlight.set(subject, left)
  }

  return {
    /**
     * Admits a request.
     * @throws AppError `rate_limited`, with Retry-After
     */
    async enter(request: Request, asking: Asking): Promise<void> {
      const shares = sharesOf(request, asking)
      for (const [subject, { inFlight: most }] of shares)
        if ((inFlight.get(subject) ?? 0) >= most) throw tooMany(most)
      for (const subject of shares.keys()) inFlight.set(subject, (inFlight.get(subject) ?? 0) + 1)
      entered.set(request, [...shares.keys()])
      if (READS.has(request.method)) return
      // The device first: a write that exceeds its limit does not count towards its account.
      for (const [subject, { writes }] of [...shares].toReversed()) await takeWrite(subject, writes)
    },

    /** Wraps a dispatcher so that a request counts as in flight until it is answered. */
    counting:
      (dispatch: Dispatch): Dispatch =>
      async (request) => {
        try {
          return await dispatch(request)
        } finally {
          entered.get(request)?.forEach(leave)
        }
      },
  }
}

export type AccountLoad = ReturnType<typeof newAccountLoad>
