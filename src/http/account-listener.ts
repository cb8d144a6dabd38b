/**
 * The listener of the account server, inside a daemon or in a separate process.
 *
 * It limits the requests of each device and each account: the requests in flight at each replica,
 * and the writes per minute at all replicas together. The limits of an account are four times those
 * of a device, so that one device cannot block the others.
 */
import { entrance, signedIn } from '../api/device/index.ts'
import type { CallerSession } from '../api/port.ts'
import { rest } from '../api/rest/index.ts'
import type { Table } from '../api/route.ts'
import { filterRows } from '../api/rows.ts'
import { site } from '../api/site/index.ts'
import { type AccessLevel, ACCOUNT_RULES, scopeTable } from '../auth/scopes.ts'
import type { Config } from '../config/config.ts'
import { AppError, statusOf } from '../errors.ts'
import type { Log } from '../log.ts'
import type { AccountServer } from '../service/service.ts'
import { type Dispatch, type Gate, newDispatch, type Request } from './dispatch.ts'
import { hostsOf } from './address.ts'
import { asksForMetrics } from './metrics-listener.ts'
import { listen, type Listening } from './server.ts'

interface Share {
  readonly inFlight: number
  readonly writes: number
}

/**
 * The limits of a device or a token.
 *
 * A daemon sends few requests at once, and scripts send their requests through the daemon.
 */
export const CALLER_SHARE: Share = { inFlight: 128, writes: 3000 }
export const ACCOUNT_SHARE: Share = {
  inFlight: 4 * CALLER_SHARE.inFlight,
  writes: 4 * CALLER_SHARE.writes,
}

const READS = new Set(['GET', 'HEAD'])

/**
 * Paths with which a user finds and ends another device or session.
 *
 * Requests to them count towards the calling device but not towards its account, so that stolen
 * devices cannot delay their own revocation.
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
    `Too many requests at once. The limit is ${most}. Wait for the answers, then try again.`,
    { headers: { 'Retry-After': '1' } },
  )

/** Who sends a request: the ids of the account, and of the calling token or device. */
interface Asking {
  readonly account: string
  readonly caller: string
}

/** Returns the limits that apply to a request, by the id that the request counts towards. */
const sharesOf = ({ segments }: Request, { account, caller }: Asking) =>
  REVOKING.has(segments.slice(0, 3).join('/'))
    ? new Map([[caller, CALLER_SHARE]])
    : new Map([
        [account, ACCOUNT_SHARE],
        [caller, CALLER_SHARE],
      ])

/**
 * Creates the request limits of one listener.
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
     * Admits a request and counts it as in flight.
     * @throws AppError `rate_limited`, with Retry-After
     */
    async enter(request: Request, asking: Asking): Promise<void> {
      const shares = sharesOf(request, asking)
      for (const [subject, { inFlight: most }] of shares)
        if ((inFlight.get(subject) ?? 0) >= most) throw tooMany(most)
      for (const subject of shares.keys()) inFlight.set(subject, (inFlight.get(subject) ?? 0) + 1)
      entered.set(request, [...shares.keys()])
      if (READS.has(request.method)) return
      // The device is counted first, so that a write beyond the device's limit does not count
      // towards its account.
      for (const [subject, { writes }] of [...shares].toReversed()) await takeWrite(subject, writes)
    },

    /** Wraps a dispatcher so that requests stop counting as in flight when they are answered. */
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

type AccountLoad = ReturnType<typeof newAccountLoad>

/** The rows of the documented interface that an account server answers. Daemons forward them. */
const forAccounts = filterRows(rest, ({ by }) => by === 'account' || by === 'both')

/** All rows that an account server answers. */
export const accountTable: Table = { ...forAccounts, ...signedIn, ...entrance, ...site }

type Caller = CallerSession & { readonly scope: AccessLevel }

const unauthorized = () =>
  new AppError(
    'unauthorized',
    'This route needs the session of a device ("Authorization: DPoP <token>" with its proof) or a machine account’s token ' +
      '("Authorization: Bearer <token>").',
  )

const notBound = () =>
  new AppError(
    'invalid_token',
    'A machine account’s token is not bound to a key. Send it as "Authorization: Bearer <token>".',
    { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } },
  )

/**
 * The default challenges of a 401, one for each accepted scheme (RFC 9110 section 11.6.1).
 *
 * They have no error code, because neither scheme was rejected (RFC 6750 section 3).
 */
const CHALLENGES = { 'WWW-Authenticate': 'Bearer, DPoP algs="Ed25519 EdDSA"' }

/** Wraps a dispatcher so that every 401 has challenges: its own or the default ones. */
const challenging =
  (dispatch: Dispatch): Dispatch =>
  async (request) => {
    try {
      return await dispatch(request)
    } catch (error) {
      if (!(error instanceof AppError) || statusOf(error.code) !== 401) throw error
      const { code, message, details, cause, headers } = error
      throw new AppError(code, message, { details, cause, headers: { ...CHALLENGES, ...headers } })
    }
  }

const { method: RENEWING, path: RENEWAL } = entrance.session.renew

/**
 * Whether a request without a session is the session renewal.
 *
 * The server verifies a proof without a session only for this route, so that a request without a
 * session to another route causes no such work.
 */
const renews = ({ method, segments }: Request) =>
  method === RENEWING && `/${segments.join('/')}` === RENEWAL

/** Returns a request's DPoP proof for the account server to verify; null if there is none. */
const proofOf = ({ proof, method, segments }: Request) =>
  proof === undefined ? null : { text: proof, method, path: `/${segments.join('/')}` }

/**
 * Returns the id of the calling token or device.
 *
 * The session's id is not used. If a device repeats a request after it signed in again, it is the
 * same operation and counts towards the same limit.
 */
const idOf = ({ token, device, account }: CallerSession): string => token ?? device ?? account

/** Returns the access control of an account server, with the request limits. */
const accountGate = (server: AccountServer, load: AccountLoad): Gate<Caller> => ({
  need: scopeTable(ACCOUNT_RULES),
  unauthorized,
  authenticate: async (request) => {
    const { token, scheme } = request
    if (scheme === 'DPoP' && token.startsWith('csm_')) throw notBound()
    // A proof next to a bearer token is ignored, because it does not bind the token.
    const proof = scheme === 'DPoP' ? proofOf(request) : null
    const caller = await server.authenticate({ token, proof })
    await load.enter(request, { account: caller.account, caller: idOf(caller) })
    return caller
  },
  context: (caller, request) => {
    if (caller !== null) return caller
    const proof = renews(request) ? proofOf(request) : null
    return proof === null
      ? { key: null, languages: request.header?.('accept-language') }
      : server.visitor(proof)
  },
  callerId: idOf,
  once: server.once,
})

/**
 * Starts the listener of an account server at `accountBind` and `accountPort`.
 * @param of `metrics`: the dispatcher of the metrics, if this listener has them
 * @throws StartError if the port is taken or the address cannot be bound
 */
export const listenForAccount = (
  config: Pick<Config, 'accountBind' | 'accountPort' | 'publicUrl'>,
  {
    server,
    log,
    metrics = null,
  }: { readonly server: AccountServer; readonly log: Log; readonly metrics?: Dispatch | null },
): Promise<Listening> => {
  const load = newAccountLoad(server.takeWrite)
  const answers = { ...server.answers, ...server.open }
  // Made at the first request: the account server inside a daemon may never have one.
  let made: Dispatch | undefined
  const dispatch: Dispatch = (request) =>
    (made ??= newDispatch(accountTable, answers, accountGate(server, load)))(request)
  const accounts = challenging(load.counting(dispatch))
  return listen({
    name: 'account',
    bind: config.accountBind,
    port: config.accountPort,
    log,
    dispatch:
      metrics === null
        ? accounts
        : (request) => (asksForMetrics(request) ? metrics(request) : accounts(request)),
    proofNonce: () => server.nonce(),
    rules: (port) => ({
      hosts: hostsOf(config.accountBind, port, config.publicUrl),
      navigable: /^\/(?:(?:[gos]|confirm|exports)\/[\w-]+)?$/,
      tokenPaths: [],
      pagePath: null,
      peerAllowed: () => true,
    }),
  })
}
