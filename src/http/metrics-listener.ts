/**
 * The metrics of a stand-alone account server. They are in a table of their own, because their
 * token is neither the session of a device nor the token of a machine account.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { rest } from '../api/rest/index.ts'
import type { Content } from '../api/route.ts'
import type { MetricsConfig } from '../config/metrics.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { hostsOf } from './address.ts'
import { type Dispatch, newDispatch, type Request } from './dispatch.ts'
import { listen, type Listening } from './server.ts'

const TABLE = { metrics: rest.metrics }
const [SEGMENT] = rest.metrics.read.path.slice(1).split('/')

/** The address of a listener of its own. Prometheus runs on this machine, or a proxy does. */
const LOOPBACK_BIND = '127.0.0.1'

/** Returns the metrics, in a format that a client accepts. */
type ReadMetrics = (accept: string) => Promise<Content>

const unauthorized = () =>
  new AppError(
    'unauthorized',
    'The metrics need the token in the file that SVC_METRICS_TOKEN_FILE names. Send "Authorization: Bearer <token>".',
    { headers: { 'WWW-Authenticate': 'Bearer' } },
  )

const wrongToken = () =>
  new AppError(
    'invalid_token',
    'This token does not open the metrics. Send the token in the file that SVC_METRICS_TOKEN_FILE names.',
    { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } },
  )

const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer')

/** Whether a request is for the metrics. */
export const asksForMetrics = ({ segments }: Request): boolean =>
  segments.length === 1 && segments[0] === SEGMENT

/**
 * Returns the dispatcher of the metrics.
 * @param token null if requests need none
 */
export function metricsDispatch(token: string | null, read: ReadMetrics): Dispatch {
  const expected = token === null ? null : digestOf(token)
  return newDispatch<{ readonly scope: 'read' }>(
    TABLE,
    { metrics: { read: (_: unknown, accept: string) => read(accept) } },
    {
      need: () => (expected === null ? 'none' : 'read'),
      unauthorized,
      authenticate: ({ token: given, scheme }) => {
        const isRight = expected !== null && timingSafeEqual(digestOf(given), expected)
        if (!isRight || scheme === 'DPoP') throw wrongToken()
        return { scope: 'read' }
      },
      context: (_caller, { accept }) => accept,
    },
  )
}

/**
 * Starts a listener for metrics alone, on loopback.
 * @throws StartError if the port is taken
 */
export const listenForMetrics = (
  { token, port }: MetricsConfig & { readonly port: number },
  { read, log }: { readonly read: ReadMetrics; readonly log: Log },
): Promise<Listening> =>
  listen({
    name: 'metrics',
    bind: LOOPBACK_BIND,
    port,
    log,
    dispatch: metricsDispatch(token, read),
    rules: (actualPort) => ({
      hosts: hostsOf(LOOPBACK_BIND, actualPort),
      navigable: /^(?!)/,
      tokenPaths: [],
      pagePath: null,
      peerAllowed: () => true,
    }),
  })
