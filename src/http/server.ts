/**
 * Connects node:http to a dispatcher. Every request passes guard → dispatch → one response. Every
 * failure, including those of the parser, has the common error format.
 */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Content } from '../api/route.ts'
import { askPeerUid } from '../auth/peer.ts'
import type { Dispatch, Outcome } from './dispatch.ts'
import { AppError, type ErrorCode, statusOf, toAppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { newBodyMemory, newLargeBodies } from './body-memory.ts'
import { hasBody, readBody } from './body.ts'
import { newConnections, newUnread } from './connections.ts'
import { credentialOf, fieldsOf } from './fields.ts'
import { type GuardRules, checkPeer, guard } from './guard.ts'
import { type ListenAddress, listenOn, takePort } from './address.ts'
import {
  endRaw,
  HEADERS_BYTES,
  newRequestId,
  NONE,
  refuseRaw,
  sendContent,
  sendJson,
} from './reply.ts'
import { newRequestOrder } from './request-order.ts'

/**
 * In milliseconds. `silence` is longer than any pause allowed within an answer, because an
 * assistant may pause before it responds.
 */
const TIMEOUTS = { headers: 10_000, request: 30_000, silence: 120_000, idle: 65_000 }
const MOST_CONNECTIONS = 2048

export interface ServerOptions extends ListenAddress {
  readonly dispatch: Dispatch
  readonly log: Log
  /** Returns the rules of the guard for a port. Called when the port is known. */
  readonly rules: (port: number) => GuardRules
  /**
   * Returns the `Countersign-Proof` that authenticates the daemon to the command line, for its
   * nonce.
   */
  readonly prove?: (nonce: string) => string
  /**
   * Accepts tokens bound to a key (RFC 9449), and returns the nonce for every response to a
   * request that carries a proof. Without it, the DPoP header is ignored.
   */
  readonly proofNonce?: () => Promise<string>
  /** Called for requests rejected before dispatch. The dispatcher records the others. */
  readonly record?: (outcome: Outcome) => void
  /**
   * The path that monitors poll. A GET of it always succeeds and is then not recorded, so the
   * server does not look up its peer.
   */
  readonly probe?: string
  /**
   * In milliseconds. `headers`, `request`: how long a client may take to send the headers and the
   * whole request. `silence`: how long a connection may transfer nothing while it waits for a
   * response or for its reader. `idle`: how long a connection stays open between two requests.
   */
  readonly timeouts?: Partial<typeof TIMEOUTS>
  /** The maximum number of open connections. */
  readonly mostConnections?: number
}

export interface Listening {
  readonly port: number
  /**
   * Rejects new connections and requests (503), waits for those in progress for at most
   * `graceMs`, then closes all connections.
   */
  close(graceMs: number): Promise<void>
}

/**
 * Returns the reason of a failure for the log. A forwarded error is reduced to its message: its
 * stack in this program adds nothing.
 */
function whyOf(error: AppError): unknown {
  const why = error.cause ?? error.message
  return why instanceof AppError ? why.message : why
}

/** The response to the last request of a connection. */
const LAST = Symbol('last answer')
/** The uid of the peer, once it is known. */
const PEER = Symbol('peer')
/**
 * The pending look-up of that uid, one per connection: it reads a list of all connections of the
 * machine.
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

const refusalOf = (id: string, peer: () => number | null, error: ErrorCode): Outcome => ({
  request: { id, peer },
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
  using taken = takePort(options)
  const { port } = taken.address()
  const rules = options.rules(port)
  const server = createServer({
    maxHeaderSize: HEADERS_BYTES,
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    keepAliveTimeout: timeouts.idle,
    connectionsCheckingInterval: Math.min(1000, timeouts.headers),
    // The guard rejects a missing Host itself, in the common error format.
    requireHostHeader: false,
    // Most requests have no body. Node then skips the stream for it.
    optimizeEmptyRequests: true,
  })
  server.timeout = timeouts.silence
  // A client that half-closes after sending still gets its response (RFC 9293 section 3.6).
  // Scripts that send with `nc` do so.
  Object.assign(server, { httpAllowHalfOpen: true })

  const connections = newConnections(server, {
    most: mostConnections,
    // Headers that start to arrive at the end of the idle time still get their own time.
    idleMs: timeouts.idle + timeouts.headers,
  })
  const turns = newRequestOrder(server)
  const countUnread = newUnread()
  const largeBodies = newLargeBodies()
  const memory = newBodyMemory()

  /** Makes this response the last of its connection: requests sent after it are discarded. */
  function end(connection: Connection, res: ServerResponse): void {
    turns.end(connection)
    res.setHeader('Connection', 'close')
  }

  /** Looks up the uid of the peer, once per connection. */
  function look(connection: Connection): Promise<void> {
    return (connection[LOOK] ??= askPeerUid(connection).then((uid) => {
      connection[PEER] = uid
    }))
  }

  /**
   * Marks the last response of a connection with `Connection: close` while the server stops.
   * Earlier requests on the same connection are still answered.
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
    const connection: Connection = req.socket
    const requestId = newRequestId()
    const peer = () => connection[PEER] ?? null
    const fields = fieldsOf(req)
    let isDispatched = false
    // Bytes after a request to upgrade may belong to the other protocol.
    if (fields.upgrade !== undefined) end(connection, res)
    try {
      const { segments, query, moved, asksPeer } = guard(req, fields, rules)
      const nonce = fields['countersign-nonce']
      if (options.prove !== undefined && nonce !== undefined)
        res.setHeader('Countersign-Proof', options.prove(nonce))
      const proof = proofNonce === undefined ? undefined : fields.dpop
      // RFC 9449 section 8.2: rejections carry the nonce too, so that the next request has it.
      if (proofNonce !== undefined && proof !== undefined)
        res.setHeader('DPoP-Nonce', await proofNonce())
      const isRecorded = options.record !== undefined && !isProbe(req)
      if ((asksPeer || isRecorded) && connection[PEER] === undefined) await look(connection)
      if (asksPeer) checkPeer(peer(), rules)
      if (isLate) throw shuttingDown()
      if (moved !== null) {
        // RFC 9110 section 15.4.8. The browser keeps the part after #.
        sendJson(res, requestId, 307, undefined, { Location: moved })
        return
      }
      const { scheme, token, digest } = credentialOf(connection, fields, proofNonce !== undefined)
      isDispatched = true
      const { route, status, value, media, location } = await dispatch({
        id: requestId,
        peer,
        method: req.method as string,
        segments,
        query,
        accept: fields.accept ?? '',
        token,
        digest,
        scheme,
        proof,
        idempotencyKey: fields['idempotency-key'],
        header: (name) => req.headers[name] as string | undefined,
        body: (limit, as) =>
          readBody(req, {
            limit,
            owner: digest,
            as,
            proceed,
            whenLarge: () => largeBodies(digest),
            memory,
          }),
      })
      settle(connection, res)
      if (media) await sendContent(res, requestId, status, value as Content)
      else
        sendJson(
          res,
          requestId,
          status,
          value,
          location === undefined ? NONE : { Location: location },
        )
      countUnread(connection, res)
      log('debug', 'request', () => ({ request_id: requestId, route, status }))
    } catch (cause) {
      const error = toAppError(cause)
      const { code } = error
      // The rest of an unread body is not worth reading, and after invalid framing its end is
      // uncertain.
      const unread = hasBody(req) && !req.complete
      if (unread || code === 'bad_request') end(connection, res)
      if (unread) turns.drop(connection)
      if (!isDispatched && options.record !== undefined) {
        if (connection[PEER] === undefined) await look(connection)
        options.record(refusalOf(requestId, peer, code))
      }
      // A shutdown is not a failure.
      if (statusOf(code) >= 500 && code !== 'shutting_down')
        log('error', 'request failed', { request_id: requestId, error: code, cause: whyOf(error) })
      else log('debug', 'request refused', { request_id: requestId, error: code })
      if (res.headersSent) {
        res.destroy()
        return
      }
      settle(connection, res)
      sendJson(res, requestId, statusOf(code), error, error.headers)
    }
  }

  function refuseExpectation(req: IncomingMessage, res: ServerResponse): void {
    try {
      guard(req, fieldsOf(req), rules)
      throw new AppError('expectation_failed', 'The only supported expectation is 100-continue.')
    } catch (error) {
      const told = toAppError(error)
      end(req.socket, res)
      sendJson(res, newRequestId(), statusOf(told.code), told)
    }
  }

  /** Answers a request after the earlier ones on its connection. */
  function take(req: IncomingMessage, res: ServerResponse, start: () => Promise<void>): void {
    const connection: Connection = req.socket
    if (!turns.isOpen(connection)) return
    connection[LAST] = res
    connections.owe(connection, res, turns.leave)
    turns.take(connection, res, () => connections.run(start()))
  }

  const nothing = () => undefined
  server.on('request', (req, res) => {
    // A request that arrived before the stop is answered, even if its turn comes later.
    const how = { isLate: connections.isStopping(), proceed: nothing }
    take(req, res, () => answer(req, res, how))
  })
  // RFC 9110 section 10.1.1: send 100 only after the guard, and only for a body that will be
  // read.
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
  })
  server.on('clientError', (error, socket) => {
    // Requests read before these bytes are answered. These bytes and what follows are not read.
    turns.stopReading(socket as Socket)
    refuseRaw(error, socket as Socket, (socket as Connection)[LAST])
  })

  await listenOn(server, taken, options)
  return {
    port,
    close: (graceMs) => connections.stop(graceMs),
  }
}
