/**
 * Connects node:http to a dispatcher.
 *
 * Every request passes the guard and then the dispatcher, and gets exactly one response. Every
 * failure has the common error format, even if Node's parser found it.
 */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Content } from '../api/route.ts'
import { askPeerUid } from '../auth/peer.ts'
import type { RequestChannel, Dispatch, Outcome, Request } from './dispatch.ts'
import { elapsedMs } from '../elapsed.ts'
import { AppError, type ErrorCode, statusOf, toAppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { ListenerName } from '../metrics/catalogue.ts'
import { newRequestCounts } from '../metrics/requests.ts'
import { newBodyMemory, newLargeBodies } from './body-memory.ts'
import { hasBody, readBody } from './body.ts'
import { newConnections, newUnread } from './connections.ts'
import { credentialOf, fieldsOf } from './fields.ts'
import { type GuardRules, checkPeer, guard, isWorkerRefusal } from './guard.ts'
import { type ListenAddress, type ListeningPlace, portPlace } from './address.ts'
import {
  endRaw,
  HEADERS_BYTES,
  newProbeId,
  newRequestId,
  NONE,
  refuseRaw,
  sendContent,
  sendJson,
} from './reply.ts'
import { newRequestOrder } from './request-order.ts'

/**
 * The default timeouts, in milliseconds.
 *
 * `silence` is longer than any pause that is allowed within an answer, because an assistant can
 * pause before it responds.
 */
const TIMEOUTS = { headers: 10_000, request: 30_000, silence: 120_000, idle: 65_000 }
const MOST_CONNECTIONS = 2048

interface CommonOptions {
  /** What the listener serves. Metrics name it. */
  readonly name: ListenerName
  readonly dispatch: Dispatch
  readonly log: Log
  /**
   * Returns the guard's rules. Called when the port is known, which is 0 for a Unix socket.
   */
  readonly rules: (port: number) => GuardRules
  /** How requests arrive (default: `tcp`). The users of a Unix socket are not known. */
  readonly channel?: RequestChannel
  /**
   * Returns the `Countersign-Proof` for a nonce of the command line.
   *
   * The command line verifies this proof, to check that the response is from its daemon.
   */
  readonly prove?: (nonce: string) => string
  /**
   * Returns the nonce for the responses to requests that contain a proof.
   *
   * If it is set, the listener accepts tokens that are bound to a key (RFC 9449). If not, the DPoP
   * header is ignored.
   */
  readonly proofNonce?: () => Promise<string>
  /**
   * Called if the browser of an allowed user asks for the script of a service worker, before the
   * request is rejected. Another program on this port installed the worker.
   */
  readonly onWorkerAsked?: () => Promise<void>
  /**
   * Called for requests that are rejected before they are dispatched. The dispatcher records
   * others.
   */
  readonly record?: (outcome: Outcome) => void
  /**
   * The path that monitors poll.
   *
   * A GET of this path always succeeds and is not recorded, so the server does not look up its
   * peer.
   */
  readonly probe?: string
  /**
   * Timeouts in milliseconds.
   *
   * - `headers` and `request`: how long a client may take to send the headers and the whole
   *   request.
   * - `silence`: how long a connection may transfer nothing while a response is pending.
   * - `idle`: how long a connection stays open between two requests.
   */
  readonly timeouts?: Partial<typeof TIMEOUTS>
  /** The maximum number of open connections. */
  readonly mostConnections?: number
}

/** What a listener needs: an address, or a place that is already bound. */
export type ServerOptions = CommonOptions & (ListenAddress | { readonly place: ListeningPlace })

export interface Listening {
  readonly port: number
  /**
   * Stops the listener.
   *
   * Rejects new connections and requests (503), waits at most `graceMs` for requests in progress,
   * then closes all connections.
   */
  close(graceMs: number): Promise<void>
}

/**
 * Returns the cause of a failure for the log.
 *
 * A forwarded error is reduced to its message, because its stack in this program does not help.
 */
function whyOf(error: AppError): unknown {
  const why = error.cause ?? error.message
  return why instanceof AppError ? why.message : why
}

/**
 * The Host that answers contain if the listener accepts any Host. A client must not choose what a
 * document contains, nor of how many Hosts documents are cached.
 */
const ANY_HOST = 'localhost'

/** The response to a connection's last request. */
const LAST = Symbol('last answer')
/** The uid of the process at the other end of the connection, once it is known. */
const PEER = Symbol('peer')
/**
 * The pending look-up of that uid.
 *
 * There is only one for each connection, because it reads a list of all connections of the machine.
 */
const LOOK = Symbol('look')
type Connection = Socket & {
  [LAST]?: ServerResponse
  [PEER]?: number | null
  [LOOK]?: Promise<void>
}

const shuttingDown = () =>
  new AppError('shutting_down', 'This server is shutting down. Try again when it has restarted.', {
    headers: { 'Retry-After': '5' },
  })

const refusalOf = (request: Outcome['request'], error: ErrorCode): Outcome => ({
  request,
  callerId: null,
  route: null,
  status: statusOf(error),
  error,
  created: undefined,
})

/**
 * Starts a listener.
 * @throws StartError if the port is taken or the address cannot be bound
 */
export async function listen(options: ServerOptions): Promise<Listening> {
  const { dispatch, log, proofNonce, mostConnections = MOST_CONNECTIONS } = options
  const timeouts = { ...TIMEOUTS, ...options.timeouts }
  const channel = options.channel ?? 'tcp'
  using place = 'place' in options ? options.place : portPlace(options)
  const { port } = place
  const rules = options.rules(port)
  const server = createServer({
    maxHeaderSize: HEADERS_BYTES,
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    keepAliveTimeout: timeouts.idle,
    connectionsCheckingInterval: Math.min(1000, timeouts.headers),
    // The guard rejects a missing Host itself, so that the error has the common format.
    requireHostHeader: false,
    // Most requests have no body. Node then skips the stream of the body.
    optimizeEmptyRequests: true,
  })
  server.timeout = timeouts.silence
  // A client that half-closes its connection after sending still gets its response (RFC 9293
  // section 3.6). Scripts that use `nc` do this.
  Object.assign(server, { httpAllowHalfOpen: true })

  const connections = newConnections(server, {
    most: mostConnections,
    // Headers that begin to arrive at the end of the idle time still get their full time.
    idleMs: timeouts.idle + timeouts.headers,
  })
  const turns = newRequestOrder(server)
  const counts = newRequestCounts(options.name)
  const endCounting = counts.connections(() => connections.open())
  const countUnread = newUnread()
  const largeBodies = newLargeBodies()
  const memory = newBodyMemory()

  /** Makes this response the last one of its connection. Requests after it are discarded. */
  function end(connection: Connection, res: ServerResponse): void {
    turns.end(connection)
    res.setHeader('Connection', 'close')
  }

  // No system lists the users of the connections to a Unix socket.
  const askUid = channel === 'tcp' ? askPeerUid : async () => null

  /** Looks up the peer's uid, once for each connection. */
  function readPeer(connection: Connection): Promise<void> {
    return (connection[LOOK] ??= askUid(connection).then((uid) => {
      connection[PEER] = uid
    }))
  }

  /**
   * Adds `Connection: close` to the last response of a connection while the server is stopping.
   *
   * Earlier requests on the connection are still answered.
   */
  function settle(connection: Connection, res: ServerResponse): void {
    if (connections.isStopping() && connection[LAST] === res && !res.headersSent)
      res.setHeader('Connection', 'close')
  }

  const isProbe = ({ method, url }: IncomingMessage) => method === 'GET' && url === options.probe

  async function answer(
    req: IncomingMessage,
    res: ServerResponse,
    { isLate, proceed }: { readonly isLate: boolean; readonly proceed: () => void },
  ) {
    const from = elapsedMs()
    const connection: Connection = req.socket
    const requestId = isProbe(req) ? newProbeId() : newRequestId()
    const peer = () => connection[PEER] ?? null
    const fields = fieldsOf(req)
    let request: Request | undefined
    // After a request to upgrade, the bytes may belong to the other protocol.
    if (fields.upgrade !== undefined) end(connection, res)
    try {
      const { segments, query, redirect, asksPeer } = guard(req, fields, rules)
      const nonce = fields['countersign-nonce']
      if (options.prove !== undefined && nonce !== undefined)
        res.setHeader('Countersign-Proof', options.prove(nonce))
      const proof = proofNonce === undefined ? undefined : fields.dpop
      // RFC 9449 section 8.2: rejections contain the nonce too, so that the next request can use
      // it.
      if (proofNonce !== undefined && proof !== undefined)
        res.setHeader('DPoP-Nonce', await proofNonce())
      const isRecorded = options.record !== undefined && !isProbe(req)
      if ((asksPeer || isRecorded) && connection[PEER] === undefined) await readPeer(connection)
      if (asksPeer) checkPeer(peer(), rules)
      if (isLate) throw shuttingDown()
      if (redirect !== null) {
        // RFC 9110 section 15.4.8. The browser keeps the part after `#`.
        sendJson(res, requestId, 307, undefined, { Location: redirect })
        counts.answered(null, 307, elapsedMs() - from)
        return
      }
      const { scheme, token, digest } = credentialOf(connection, fields, proofNonce !== undefined)
      request = {
        id: requestId,
        peer,
        channel,
        method: req.method as string,
        segments,
        query,
        accept: fields.accept ?? '',
        token,
        digest,
        scheme,
        proof,
        idempotencyKey: fields['idempotency-key'],
        // Present from the start, so that all requests have one hidden class.
        routeName: undefined,
        header: (name) =>
          name === 'host' && rules.hosts === null
            ? ANY_HOST
            : (req.headers[name] as string | undefined),
        body: (limit, as) =>
          readBody(req, {
            limit,
            owner: digest,
            as,
            proceed,
            whenLarge: () => largeBodies(digest),
            memory,
          }),
      }
      const { route, status, value, media, lasting, location } = await dispatch(request)
      settle(connection, res)
      if (lasting) {
        connections.lasts(connection, res)
        res.once('close', counts.streams(route))
      }
      if (media) {
        const content = value as Content
        counts.answered(route, content.status ?? status, elapsedMs() - from)
        await sendContent(res, requestId, status, content)
      } else {
        sendJson(
          res,
          requestId,
          status,
          value,
          location === undefined ? NONE : { Location: location },
        )
        counts.answered(route, status, elapsedMs() - from)
      }
      countUnread(connection, res)
      log('debug', 'request', () => ({ request_id: requestId, route, status }))
    } catch (cause) {
      const error = toAppError(cause)
      const { code } = error
      // An unread body is discarded, and after invalid framing the end of the request is uncertain.
      // In both cases, the connection is closed.
      const unread = hasBody(req) && !req.complete
      if (unread || code === 'bad_request') end(connection, res)
      if (unread) turns.drop(connection)
      if (request === undefined) {
        counts.refused(code)
        if (options.record !== undefined) {
          if (connection[PEER] === undefined) await readPeer(connection)
          options.record(refusalOf({ id: requestId, peer, channel }, code))
        }
      }
      if (isWorkerRefusal(error) && rules.peerAllowed(peer())) await options.onWorkerAsked?.()
      // Being shut down is not a failure.
      if (statusOf(code) >= 500 && code !== 'shutting_down')
        log('error', 'request failed', { request_id: requestId, error: code, cause: whyOf(error) })
      else log('debug', 'request refused', { request_id: requestId, error: code })
      if (res.headersSent) {
        res.destroy()
        return
      }
      settle(connection, res)
      sendJson(res, requestId, statusOf(code), error, error.headers)
      counts.failed(code)
      counts.answered(request?.routeName ?? null, statusOf(code), elapsedMs() - from)
    }
  }

  function refuseExpectation(req: IncomingMessage, res: ServerResponse): void {
    try {
      guard(req, fieldsOf(req), rules)
      throw new AppError('expectation_failed', 'The only supported expectation is 100-continue.')
    } catch (error) {
      const failure = toAppError(error)
      end(req.socket, res)
      sendJson(res, newRequestId(), statusOf(failure.code), failure)
      countRaw(failure.code)
    }
  }

  /** Counts a request that was rejected without being dispatched or measured. */
  function countRaw(code: ErrorCode): void {
    counts.refused(code)
    counts.failed(code)
    counts.answered(null, statusOf(code), 0)
  }

  /** Answers a request after the earlier requests on its connection. */
  function take(req: IncomingMessage, res: ServerResponse, start: () => Promise<void>): void {
    const connection: Connection = req.socket
    if (!turns.isOpen(connection)) return
    connection[LAST] = res
    connections.owe(connection, res, turns.leave)
    turns.take(connection, res, () => connections.run(start()))
  }

  const nothing = () => undefined
  server.on('request', (req, res) => {
    // A request that arrived before the stop is answered, even if it begins later.
    const how = { isLate: connections.isStopping(), proceed: nothing }
    take(req, res, () => answer(req, res, how))
  })
  // RFC 9110 section 10.1.1: `100 Continue` is sent only after the guard, and only for a body that
  // will be read.
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    const how = { isLate: connections.isStopping(), proceed: () => res.writeContinue() }
    take(req, res, () => answer(req, res, how))
  })
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) =>
    take(req, res, async () => refuseExpectation(req, res)),
  )
  server.on('connect', (_req, socket) => {
    turns.stopReading(socket as Socket)
    endRaw(
      socket as Socket,
      new AppError('method_not_allowed', 'This server is not a proxy.', {
        headers: { Allow: 'GET, HEAD, POST, PATCH, DELETE' },
      }),
    )
    countRaw('method_not_allowed')
  })
  server.on('clientError', (error, socket) => {
    // Requests that were parsed before these bytes are answered. Nothing more is read.
    turns.stopReading(socket as Socket)
    const code = refuseRaw(error, socket as Socket, (socket as Connection)[LAST])
    if (code !== null) countRaw(code)
  })

  await place.listen(server)
  return {
    port,
    close: (graceMs) => connections.stop(graceMs).finally(endCounting),
  }
}
