/**
 * A connection of the command line to the running daemon. The daemon proves itself first, and only then is a token sent, on
 * that same connection: whoever else sits on the port gets neither a token nor a question.
 */
import { randomBytes } from 'node:crypto'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { type Socket, connect as netConnect } from 'node:net'
import { commandLineToken, isDaemonProof } from '../auth/proof.ts'
import { EVENT_STREAM } from '../api/event-stream.ts'
import type { Route } from '../api/route.ts'
import type { Outgoing } from '../api/client.ts'
import { AppError, type Code, StartError } from '../errors.ts'
import { type Runtime, isOwnAddress, readRuntime, stateSecret } from '../storage/runtime-file.ts'

/** A daemon answers the greeting at once; whatever takes longer is something else on its port. */
const GREETING_MS = 5_000
/** The daemon may wait half a minute itself for each thing that it asks its account server. */
const ANSWER_MS = 120_000

/** What is too long, or takes too long, to be waited for whole: an answer of the assistant, and a backup. */
const BIT_BY_BIT: ReadonlySet<string> = new Set([EVENT_STREAM, 'application/octet-stream'])

export interface DaemonConnection {
  /** `http://host:port` */
  readonly address: string
  /** Whether the command line may have a token of its own here, which is good for everything. */
  readonly trusted: boolean
  /** Send a request; gives back the parsed answer. Throws AppError as the daemon said it. */
  send(request: Outgoing): Promise<unknown>
  close(): void
}

const silent = (cause?: unknown) =>
  new StartError(
    'daemonSilent',
    'A daemon holds this state folder but does not answer as itself. Look at its log, or stop it and try again.',
    cause,
  )

/** An agent with one connection and no second: a token must never travel on another than the one that was proven. */
function oneConnection(url: URL): { agent: Agent; socket: Socket } {
  // A URL leaves out the port 80.
  const port = Number(url.port || 80)
  const socket = netConnect({ host: url.hostname.replace(/^\[|\]$/g, ''), port })
  let used = false
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agent.createConnection = (_options, made) => {
    // Said to whoever waits for it: the agent also asks when the first one closes, where nobody would catch.
    if (used) {
      made?.(silent(), socket)
      return undefined
    }
    used = true
    return socket
  }
  return { agent, socket }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** In place of the body, where the daemon answers bit by bit. */
  readonly stream?: IncomingMessage
}

function exchange(
  agent: Agent,
  url: URL,
  method: string,
  headers: Record<string, string>,
  timeout: number,
  body?: string,
): Promise<Answer> {
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

function read(route: Route, { status, headers, body, stream }: Answer): unknown {
  if (status === 204) return undefined
  const isJson = headers['content-type'] === 'application/json'
  if (status < 400)
    return isJson && route.media === undefined
      ? JSON.parse(body.toString())
      : { type: headers['content-type'], body: stream ?? body, headers }
  const { error, message, ...details } = JSON.parse(body.toString()) as {
    error: Code
    message: string
  }
  throw new AppError(error, message, { details })
}

/** How whoever answers is known to be the daemon. */
export interface Proof {
  /** Header fields of the greeting. */
  readonly greeting: Readonly<Record<string, string>>
  /** Whether it is the daemon: by what it answered, or by who has the other end of the connection. */
  readonly isProven: (answer: Answer, socket: Socket) => boolean
  /** The token, where there is one. */
  readonly token: string | null
  /** What is said of anybody else. */
  readonly silent: (cause?: unknown) => StartError
}

/** Send a greeting, and after its proof whatever is asked, on one connection. Throws what `silent` makes. */
export async function connectProven(
  address: string,
  { greeting, isProven, token, silent: refusal }: Proof,
): Promise<Omit<DaemonConnection, 'trusted'>> {
  if (!isOwnAddress(address)) throw refusal()
  const { agent, socket } = oneConnection(new URL(address))
  try {
    const hello = await exchange(agent, new URL('/health', address), 'GET', greeting, GREETING_MS)
    if (!isProven(hello, socket)) throw refusal()
  } catch (cause) {
    agent.destroy()
    throw cause instanceof StartError ? cause : refusal(cause)
  }
  const authorization = token === null ? undefined : { Authorization: `Bearer ${token}` }
  return {
    address,
    async send({ route, path, query, body }) {
      const url = new URL(path + (query === '' ? '' : `?${query}`), address)
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

/** The proof of a daemon that can read the same state folder (`auth/proof.ts`). */
export function bySecret(
  { address, nonce: run }: Runtime,
  secret: Uint8Array,
  token: string | null,
): Proof {
  const nonce = randomBytes(16).toString('base64url')
  return {
    greeting: { 'Countersign-Nonce': nonce },
    isProven: ({ headers }) => {
      const proof = headers['countersign-proof']
      return typeof proof === 'string' && isDaemonProof(proof, secret, nonce, address)
    },
    token: token ?? commandLineToken(secret, run),
    silent,
  }
}

/**
 * Connect to the daemon that holds a state folder.
 * @param token the token to use, or null for the command line's own
 * @throws StartError daemonSilent when nobody answers, or somebody else does
 */
export async function connect(stateDir: string, token: string | null): Promise<DaemonConnection> {
  const runtime = readRuntime(stateDir)
  if (runtime === null) throw silent()
  const proof = bySecret(runtime, stateSecret(stateDir), token)
  return { ...(await connectProven(runtime.address, proof)), trusted: true }
}
