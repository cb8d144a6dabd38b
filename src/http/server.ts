/**
 * node:http around a dispatcher. Every request, whatever its path, goes guard → dispatch → one answer; every failure, the
 * parser's included, leaves in the one error shape.
 */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { Socket } from 'node:net'
import type { Content } from '../api/route.ts'
import { askPeerUid } from '../auth/peer.ts'
import type { Dispatch, Outcome } from './dispatch.ts'
import { AppError, type Code, statusOf, toAppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { newBodyMemory } from './body-memory.ts'
import { hasBody, readBody } from './body.ts'
import { newConnections } from './connections.ts'
import { credentialOf } from './credential.ts'
import { fieldsOf } from './fields.ts'
import { type GuardRules, checkPeer, guard } from './guard.ts'
import { newLargeBodies } from './large-bodies.ts'
import { type Place, listenOn, takePort } from './port.ts'
import { HEADERS_BYTES, endRaw, refuseRaw } from './raw.ts'
import { NONE, newRequestId, sendContent, sendJson } from './reply.ts'
import { newTurns } from './request-order.ts'
import { newUnread } from './unread-body.ts'

/** The silence is longer than any that an answer itself may make: an assistant thinks before it speaks. */
const TIMEOUTS = { headers: 10_000, request: 30_000, silence: 120_000, idle: 65_000 }
const MOST_CONNECTIONS = 2048

export interface ServerOptions extends Place {
  readonly dispatch: Dispatch
  readonly log: Log
  /** The rules of the guard, made when the port is known. */
  readonly rules: (port: number) => GuardRules
  /** Header fields that prove the daemon to the command line, for the nonce it sent. */
  readonly prove?: (nonce: string) => string
  /**
   * Take tokens that are bound to a key (RFC 9449), and give this nonce with every answer to a request that carries a proof.
   * Without it, a DPoP header is not read.
   */
  readonly proofNonce?: () => Promise<string>
  /** Told of what is refused before it comes to the dispatcher, which tells of the rest itself. */
  readonly record?: (outcome: Outcome) => void
  /**
   * What whoever watches asks for again and again. Its GET can only go well, and is then not recorded: who asked need not be known.
   */
  readonly probe?: string
  /**
   * In milliseconds: how long a client may take for the headers and for the whole request; how long
   * nothing may pass on a connection that waits for an answer or for its reader; how long a
   * connection stays open between two requests.
   */
  readonly timeouts?: Partial<typeof TIMEOUTS>
  /** The most connections that are open at once. */
  readonly mostConnections?: number
}

export interface Listening {
  readonly port: number
  /** Take no connection and no request any more (503), wait for what runs at most `graceMs`, then cut. */
  close(graceMs: number): Promise<void>
}

/** Why a request failed. What was passed on from somewhere says it in its message, and where in this program is no news. */
function whyOf(error: AppError): unknown {
  const why = error.cause ?? error.message
  return why instanceof AppError ? why.message : why
}

/** The answer to the last request of a connection. */
const LAST = Symbol('last answer')
/** The uid at the other end, once it is known. */
const PEER = Symbol('peer')
/**
 * The look-up of that uid, which reads a list of all connections of the machine: one for each
 * connection.
 */
const LOOK = Symbol('look')
type Connection = Socket & {
  [LAST]?: ServerResponse
  [PEER]?: number | null
  [LOOK]?: Promise<void>
}

const shuttingDown = () =>
  new AppError('shutting_down', 'This server is stopping. Ask again when it runs again.', {
    headers: { 'Retry-After': '5' },
  })

const refusalOf = (id: string, peer: () => number | null, error: Code): Outcome => ({
  request: { id, peer },
  callerId: null,
  route: null,
  status: statusOf(error),
  error,
  created: undefined,
})

/** Start a listener. Throws StartError when the port is taken or the address cannot be bound. */
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
    // The guard refuses a missing Host itself, in the one error shape.
    requireHostHeader: false,
    // Most requests have no body: Node then spares the stream of one.
    optimizeEmptyRequests: true,
  })
  server.timeout = timeouts.silence
  // Whoever has said all he wants to say and listens gets his answer (RFC 9293 section 3.6): scripts that send by `nc` do so.
  Object.assign(server, { httpAllowHalfOpen: true })

  const connections = newConnections(server, {
    most: mostConnections,
    // Headers that begin at the end of the idle time still have theirs.
    idleMs: timeouts.idle + timeouts.headers,
  })
  const turns = newTurns(server)
  const countUnread = newUnread()
  const largeBodies = newLargeBodies()
  const memory = newBodyMemory()

  /**
   * Announce the end of a connection with this answer: what was sent behind its request is not to
   * be done.
   */
  function end(connection: Connection, res: ServerResponse): void {
    turns.end(connection)
    res.setHeader('Connection', 'close')
  }

  /** Look up who is at the other end, once for each connection. */
  function look(connection: Connection): Promise<void> {
    return (connection[LOOK] ??= askPeerUid(connection).then((uid) => {
      connection[PEER] = uid
    }))
  }

  /** While stopping, the last answer of a connection says so; what came before it on the same connection is still answered. */
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
    // What follows a request to upgrade may be meant for the other protocol.
    if (fields.upgrade !== undefined) end(connection, res)
    try {
      const { segments, query, moved, asksPeer } = guard(req, fields, rules)
      const nonce = fields['countersign-nonce']
      if (options.prove !== undefined && nonce !== undefined)
        res.setHeader('Countersign-Proof', options.prove(nonce))
      const proof = proofNonce === undefined ? undefined : fields.dpop
      // RFC 9449 section 8.2: with refusals too, so that the next request has it.
      if (proofNonce !== undefined && proof !== undefined)
        res.setHeader('DPoP-Nonce', await proofNonce())
      const isRecorded = options.record !== undefined && !isProbe(req)
      if ((asksPeer || isRecorded) && connection[PEER] === undefined) await look(connection)
      if (asksPeer) checkPeer(peer(), rules)
      if (isLate) throw shuttingDown()
      if (moved !== null) {
        // RFC 9110 section 15.4.8. What stands behind a # goes with it.
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
      // What is left of an unread body is not worth reading, and a refused framing makes its end uncertain.
      const unread = hasBody(req) && !req.complete
      if (unread || code === 'bad_request') end(connection, res)
      if (unread) turns.drop(connection)
      if (!isDispatched && options.record !== undefined) {
        if (connection[PEER] === undefined) await look(connection)
        options.record(refusalOf(requestId, peer, code))
      }
      // That it stops is no failure of anything.
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
      throw new AppError('expectation_failed', 'The only expectation met here is 100-continue.')
    } catch (error) {
      const told = toAppError(error)
      end(req.socket, res)
      sendJson(res, newRequestId(), statusOf(told.code), told)
    }
  }

  /** Answer a request when its turn has come on its connection. */
  function take(req: IncomingMessage, res: ServerResponse, start: () => Promise<void>): void {
    const connection: Connection = req.socket
    if (!turns.isOpen(connection)) return
    connection[LAST] = res
    connections.owe(connection, res, turns.leave)
    turns.take(connection, res, () => connections.run(start()))
  }

  const nothing = () => undefined
  server.on('request', (req, res) => {
    // What came before the stop is answered, also where its turn comes after it.
    const how = { isLate: connections.isStopping(), proceed: nothing }
    take(req, res, () => answer(req, res, how))
  })
  // RFC 9110 section 10.1.1: 100 only after the guard, and only for a body that will be read.
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
      new AppError('method_not_allowed', 'This server is no proxy.', {
        headers: { Allow: 'GET, HEAD, POST, PATCH, DELETE' },
      }),
    )
  })
  server.on('clientError', (error, socket) => {
    // What was read before these bytes is answered; they, and what follows, are not read.
    turns.stopReading(socket as Socket)
    refuseRaw(error, socket as Socket, (socket as Connection)[LAST])
  })

  await listenOn(server, taken, options)
  return {
    port,
    close: (graceMs) => connections.stop(graceMs),
  }
}
