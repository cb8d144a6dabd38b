/**
 * A connection from the command line to the running daemon.
 *
 * The token is sent only after the daemon's proof, and on the same connection. Another program on
 * the port therefore gets neither a token nor a request.
 */
import { randomBytes } from 'node:crypto'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { type Socket, connect as netConnect } from 'node:net'
import { commandLineToken, isDaemonProof, socketAddress } from '../auth/proof.ts'
import { EVENT_STREAM } from '../api/event-stream.ts'
import type { Route } from '../api/route.ts'
import type { Outgoing } from '../api/client.ts'
import { hostIn } from '../config/values.ts'
import { AppError, type ErrorCode, StartError } from '../errors.ts'
import { type Runtime, isOwnAddress, readRuntime, stateSecret } from '../storage/runtime-file.ts'

/**
 * The time limit for the greeting in milliseconds. A daemon answers it immediately, so a slower
 * peer is not a daemon.
 */
const GREETING_MS = 5_000
/**
 * The time limit for an answer in milliseconds.
 *
 * The daemon itself may wait 30 seconds for each of its requests to an account server.
 */
const ANSWER_MS = 120_000

/**
 * The media types of streamed answers, which take too long or are too large to be collected.
 *
 * These are the answers of the assistant, and backups.
 */
const BIT_BY_BIT: ReadonlySet<string> = new Set([EVENT_STREAM, 'application/octet-stream'])

export interface DaemonConnection {
  /** Where the daemon answers, its process id, and the version of the state that it uses. */
  readonly run: Pick<Runtime, 'address' | 'socket' | 'pid' | 'stateVersion'>
  /** Whether the command line may use its own token here, which permits every operation. */
  readonly trusted: boolean
  /**
   * Sends a request and returns the parsed answer.
   * @throws AppError with the daemon's code and message
   */
  send(request: Outgoing): Promise<unknown>
  close(): void
}

const silent = (cause?: unknown) =>
  new StartError(
    'daemonSilent',
    'A process uses this state folder, but does not answer as its daemon. Check its log, or stop it and try again.',
    cause,
  )

/** A place to connect to. */
interface Target {
  /** The address in the daemon's proof: a URL, or that of a Unix socket. */
  readonly address: string
  /** The base of the URLs of requests. */
  readonly url: string
  readonly connect: () => Socket
}

const toPort = (address: string): Target => ({
  address,
  url: address,
  connect: () => {
    const url = new URL(address)
    // A URL object omits port 80.
    return netConnect({ host: hostIn(url), port: Number(url.port || 80) })
  },
})

const toSocket = (path: string): Target => ({
  address: socketAddress(path),
  url: 'http://localhost',
  connect: () => netConnect({ path }),
})

/**
 * Returns an agent that has exactly one connection.
 *
 * A token must be sent only on the connection on which the daemon proved its identity.
 */
function oneConnection(connect: Target['connect']): { agent: Agent; socket: Socket } {
  const socket = connect()
  let used = false
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agent.createConnection = (_options, made) => {
    // The error must go to the callback. The agent also asks for a connection when the first one
    // closes, and an error thrown then would be uncaught.
    if (used) {
      made?.(silent(), socket)
      return undefined
    }
    used = true
    return socket
  }
  return { agent, socket }
}

interface DaemonResponse {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** Set instead of `body` if the daemon streams its answer. */
  readonly stream?: IncomingMessage
}

function exchange(
  agent: Agent,
  url: URL,
  method: string,
  headers: Record<string, string>,
  timeout: number,
  body?: string,
): Promise<DaemonResponse> {
  return new Promise((resolve, reject) => {
    const req = httpRequest(url, { method, agent, headers, timeout }, (res) => {
      const { statusCode: status = 0, headers: fields } = res
      if (BIT_BY_BIT.has(fields['content-type'] ?? '')) {
        resolve({ status, headers: fields, body: Buffer.alloc(0), stream: res })
        return
      }
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.once('error', reject)
      res.once('end', () => resolve({ status, headers: fields, body: Buffer.concat(chunks) }))
    })
    req.once('timeout', () => req.destroy(silent()))
    req.once('error', reject)
    req.end(body)
  })
}

function read(route: Route, { status, headers, body, stream }: DaemonResponse): unknown {
  if (status === 204) return undefined
  const isJson = headers['content-type'] === 'application/json'
  if (status < 400)
    return isJson && route.media === undefined
      ? JSON.parse(body.toString())
      : { type: headers['content-type'], body: stream ?? body, headers }
  const { error, message, ...details } = JSON.parse(body.toString()) as {
    error: ErrorCode
    message: string
  }
  throw new AppError(error, message, { details })
}

/** How a client verifies that it is connected to the daemon. */
interface DaemonCheck {
  /** Header fields of the greeting. */
  readonly greeting: Readonly<Record<string, string>>
  /**
   * Returns whether the peer at an address is the daemon. It checks the answer, or the owner of the
   * peer's socket.
   */
  readonly isProven: (answer: DaemonResponse, socket: Socket, address: string) => boolean
  /** The token to send, or null. */
  readonly token: string | null
  /** Returns the error for a peer that is not the daemon. */
  readonly silent: (cause?: unknown) => StartError
}

type Proven = Omit<DaemonConnection, 'run' | 'trusted'>

async function connectTo(
  { address, url: base, connect: open }: Target,
  { greeting, isProven, token, silent: refusal }: DaemonCheck,
): Promise<Proven> {
  const { agent, socket } = oneConnection(open)
  try {
    const hello = await exchange(agent, new URL('/health', base), 'GET', greeting, GREETING_MS)
    if (!isProven(hello, socket, address)) throw refusal()
  } catch (cause) {
    agent.destroy()
    throw cause instanceof StartError ? cause : refusal(cause)
  }
  const authorization = token === null ? undefined : { Authorization: `Bearer ${token}` }
  return {
    async send({ route, path, query, body }) {
      const url = new URL(path + (query === '' ? '' : `?${query}`), base)
      const text = body === undefined ? undefined : JSON.stringify(body)
      const type =
        text === undefined
          ? undefined
          : {
              'Content-Type': 'application/json',
              'Content-Length': String(Buffer.byteLength(text)),
            }
      const headers = { ...authorization, ...type }
      return read(route, await exchange(agent, url, route.method, headers, ANSWER_MS, text))
    },
    close: () => agent.destroy(),
  }
}

/**
 * Sends the greeting, verifies the proof, and returns the connection for further requests.
 *
 * Connects to the Unix socket if there is one. If this user may not, or no daemon proves itself
 * there, connects to the port.
 * @throws StartError as returned by `silent`
 */
export async function connectProven(
  { address, socket }: Pick<Runtime, 'address' | 'socket'>,
  check: DaemonCheck,
): Promise<Proven> {
  if (address !== null && !isOwnAddress(address)) throw check.silent()
  const port = address === null ? null : toPort(address)
  if (socket === null) {
    if (port === null) throw check.silent()
    return connectTo(port, check)
  }
  try {
    return await connectTo(toSocket(socket), check)
  } catch (error) {
    if (port === null) throw error
    return connectTo(port, check)
  }
}

/** Returns the check of a daemon that can read the same state folder (`auth/proof.ts`). */
export function bySecret(
  { nonce: run }: Runtime,
  secret: Uint8Array,
  token: string | null,
): DaemonCheck {
  const nonce = randomBytes(16).toString('base64url')
  return {
    greeting: { 'Countersign-Nonce': nonce },
    isProven: ({ headers }, _socket, address) => {
      const proof = headers['countersign-proof']
      return typeof proof === 'string' && isDaemonProof(proof, secret, nonce, address)
    },
    token: token ?? commandLineToken(secret, run),
    silent,
  }
}

/**
 * Connects to the daemon that has the lock of a state folder.
 * @param token the token to use; null for the command line's own token
 * @throws StartError `daemonSilent` if there is no answer, or if the peer is not that daemon
 */
export async function connect(stateDir: string, token: string | null): Promise<DaemonConnection> {
  const runtime = readRuntime(stateDir)
  if (runtime === null) throw silent()
  const proof = bySecret(runtime, stateSecret(stateDir), token)
  return { ...(await connectProven(runtime, proof)), run: runtime, trusted: true }
}
