/**
 * A connection of the command line to the running daemon. The daemon proves itself first, and only then is a token sent, on
 * that same connection: whoever else sits on the port gets neither a token nor a question.
 */
import { randomBytes } from 'node:crypto'
import { Agent, type IncomingMessage, request as httpRequest } from 'node:http'
import { connect as netConnect } from 'node:net'
import { commandLineToken, isDaemonProof } from '../auth/proof.ts'
import { EVENT_STREAM } from '../api/event-stream.ts'
import type { Route } from '../api/route.ts'
import type { Outgoing } from '../client.ts'
import { AppError, type Code, StartError } from '../errors.ts'
import { readRuntime, stateSecret } from '../state/runtime.ts'

/** A daemon answers the greeting at once; whatever takes longer is something else on its port. */
const GREETING_MS = 5_000
/** The daemon may wait half a minute itself for each thing that it asks its account server. */
const ANSWER_MS = 120_000

export interface DaemonConnection {
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
function oneConnection(url: URL): Agent {
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
  return agent
}

interface Answer {
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
      if (fields['content-type'] === EVENT_STREAM) {
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

const isMedia = (route: Route) => route.reply !== undefined && 'media' in route.reply

function read(route: Route, { status, headers, body, stream }: Answer): unknown {
  if (status === 204) return undefined
  const isJson = headers['content-type'] === 'application/json'
  if (status < 400)
    return isJson && !isMedia(route)
      ? JSON.parse(body.toString())
      : { type: headers['content-type'], body: stream ?? body, headers }
  const { error, message, ...details } = JSON.parse(body.toString()) as {
    error: Code
    message: string
  }
  throw new AppError(error, message, { details })
}

/**
 * Connect to the daemon that holds a state folder.
 * @param token the token to use, or null for the command line's own
 * @throws StartError daemonSilent when nobody answers, or somebody else does
 */
export async function connect(stateDir: string, token: string | null): Promise<DaemonConnection> {
  const runtime = readRuntime(stateDir)
  if (runtime === null) throw silent()
  const { address } = runtime
  const secret = stateSecret(stateDir)
  const agent = oneConnection(new URL(address))
  try {
    const nonce = randomBytes(16).toString('base64url')
    const greeting = { 'Countersign-Nonce': nonce }
    const hello = await exchange(agent, new URL('/health', address), 'GET', greeting, GREETING_MS)
    const proof = hello.headers['countersign-proof']
    if (typeof proof !== 'string' || !isDaemonProof(proof, secret, nonce, address)) throw silent()
  } catch (cause) {
    agent.destroy()
    throw cause instanceof StartError ? cause : silent(cause)
  }
  const authorization = `Bearer ${token ?? commandLineToken(secret, runtime.nonce)}`
  return {
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
      const headers = { Authorization: authorization, ...type }
      return read(route, await exchange(agent, url, route.method, headers, ANSWER_MS, text))
    },
    close: () => agent.destroy(),
  }
}
