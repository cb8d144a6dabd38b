/**
 * One exchange with an account server: a request out, a bounded answer in, whole, or as it comes where that was asked for. Nothing
 * is followed, nothing is believed: what an answer means is judged elsewhere.
 */
import { X509Certificate } from 'node:crypto'
import { Agent as HttpAgent, type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { type Socket, isIPv4 } from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { urlToHttpOptions } from 'node:url'
import { EVENT_STREAM } from '../api/event-stream.ts'
import { passage } from '../api/stream-relay.ts'
import { Refusal } from '../crypto/refusal.ts'
import { AppError, StartError } from '../errors.ts'
import {
  type Passing,
  backendError,
  networkFault,
  streamFault,
  timedOut,
  unavailable,
} from './faults.ts'

/** The largest answer, in bytes. */
const LARGEST = 16 * 1024 * 1024
const MOST_SOCKETS = 64
// An assistant thinks before it speaks; the server gives up on it sooner than this, and says so.
export const TIMEOUTS = {
  connectMs: 5_000,
  answerMs: 30_000,
  silenceMs: 90_000,
  streamMs: 900_000,
} satisfies Timeouts

export interface Timeouts {
  /** For a connection, TLS included. */
  readonly connectMs: number
  /** For the whole exchange. */
  readonly answerMs: number
  /** For the beginning of an answer that may come as a stream, and for each silence in it. */
  readonly silenceMs?: number
  /** For the whole of a stream. */
  readonly streamMs?: number
}

export interface Question {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Whether an event stream is wanted as it comes; else every answer is read whole. */
  readonly streams?: boolean
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** In place of the body, where an event stream was wanted and came. */
  readonly stream?: AsyncIterable<Uint8Array>
  /** When the question left and when the answer began, in Unix milliseconds of the clock here. */
  readonly sentAt: number
  readonly answeredAt: number
}

export interface Transport {
  readonly origin: string
  /** Throws AppError, or Passing for what may pass. */
  exchange(question: Question): Promise<Answer>
  /** Cut every connection; what runs fails. */
  close(): void
}

const isLoopback = (host: string) =>
  host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'))

/** The URL of a server to speak to. Throws StartError for what is no origin, and for http to another machine. */
export function originOf(base: string): URL {
  const url = URL.parse(base)
  if (url === null || url.href !== `${url.origin}/`)
    throw new StartError(
      'configuration',
      'The address of the account server must be an origin alone, https://host[:port].',
    )
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)))
    return url
  throw new StartError(
    'configuration',
    `The account server ${url.origin} must be reached by https: http is taken on this machine only.`,
  )
}

/** Throws StartError for a PEM that holds no certificate. */
export function demandCertificate(pem: string): void {
  try {
    new X509Certificate(pem)
  } catch (cause) {
    throw new StartError(
      'configuration',
      'SVC_CA_FILE holds no certificate in PEM (-----BEGIN CERTIFICATE-----).',
      cause,
    )
  }
}

/** Node's authorities, the system's, and one's own. */
function trust(ca: string | null) {
  const known = [...getCACertificates('default'), ...getCACertificates('system')]
  return createSecureContext({ ca: [...new Set(known), ...(ca === null ? [] : [ca])] })
}

/** What keeps the connections to a server. `ca`: PEM of further authorities */
export function agentFor(url: URL, ca: string | null): HttpAgent {
  const options = { keepAlive: true, maxSockets: MOST_SOCKETS }
  return url.protocol === 'http:'
    ? new HttpAgent(options)
    : // Said here, so that no variable of the environment says otherwise.
      new HttpsAgent({ ...options, secureContext: trust(ca), rejectUnauthorized: true })
}

/**
 * Open a transport; it connects when it is first used.
 * @param of `base` is the server's origin, `ca` the PEM of further authorities, `now` Unix milliseconds
 * @throws StartError configuration for a base that is no origin or http off loopback, and for a PEM that is none
 */
export function openTransport(of: {
  base: string
  ca: string | null
  now: () => number
  timeouts?: Timeouts
}): Transport {
  const { now } = of
  const timeouts = { ...TIMEOUTS, ...of.timeouts }
  const url = originOf(of.base)
  const { origin } = url
  if (of.ca !== null) demandCertificate(of.ca)
  // Made when it is first needed: to read several hundred authorities takes longer than a start.
  let agent: HttpAgent | null = null
  const isSecure = url.protocol === 'https:'
  const request = isSecure ? httpsRequest : httpRequest
  const target = urlToHttpOptions(url)
  /** Connections that are made; the agent hands them on to requests that waited for one. */
  const open = new WeakSet<Socket>()
  let closed = false

  const ask = ({ method, target: path, headers, body, streams = false }: Question) =>
    new Promise<Answer>((resolve, reject) => {
      const req = request({
        ...target,
        path,
        method,
        headers,
        agent: (agent ??= agentFor(url, of.ca)),
      })
      let reached = false
      let sentAt = now()
      let connecting: NodeJS.Timeout | undefined
      const cut = (error: AppError) => {
        fail(error)
        req.destroy()
      }
      const whole = setTimeout(
        () => cut(timedOut(origin, 'did not answer in time.')),
        streams ? timeouts.silenceMs : timeouts.answerMs,
      )
      const settle = () => {
        clearTimeout(whole)
        clearTimeout(connecting)
      }
      const fail = (error: AppError | Passing) => {
        settle()
        reject(error)
      }
      const connected = () => {
        clearTimeout(connecting)
        reached = true
        sentAt = now()
      }
      const lost = (cause: Error) => fail(networkFault(origin, cause, req.socket, reached))

      req.once('socket', (socket) => {
        if (open.has(socket)) {
          connected()
          return
        }
        connecting = setTimeout(
          () => cut(timedOut(origin, 'could not be reached in time.')),
          timeouts.connectMs,
        )
        socket.once(isSecure ? 'secureConnect' : 'connect', () => {
          open.add(socket)
          connected()
        })
      })
      // Stays, because a connection that is cut by this side may complain once more.
      req.on('error', lost)
      req.once('response', (res) => {
        const answeredAt = now()
        const { statusCode: status = 0, headers } = res
        const isStream = headers['content-type'] === EVENT_STREAM && status === 200
        if (streams && isStream && headers['content-encoding'] === undefined) {
          settle()
          const { body: stream } = passage(res, {
            bounds: { silenceMs: timeouts.silenceMs, wholeMs: timeouts.streamMs, most: LARGEST },
            told: (why, cause) => streamFault(origin, why, cause),
          })
          resolve({ status, headers, body: Buffer.alloc(0), stream, sentAt, answeredAt })
          return
        }
        const tooLarge = () => {
          const cause = new Refusal('too_large', `an answer of more than ${LARGEST} bytes`)
          cut(backendError(origin, `answers with more than ${LARGEST} bytes.`, cause))
        }
        const chunks: Buffer[] = []
        let size = 0
        res.on('error', lost)
        if (Number(headers['content-length'] ?? 0) > LARGEST) {
          tooLarge()
          return
        }
        res.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > LARGEST) tooLarge()
          else chunks.push(chunk)
        })
        res.once('end', () => {
          settle()
          resolve({ status, headers, body: Buffer.concat(chunks), sentAt, answeredAt })
        })
      })
      req.end(body)
    })

  return {
    origin,
    exchange: async (question) => {
      if (closed) throw unavailable(origin, 'is not asked any more: this program is ending.')
      return ask(question)
    },
    close() {
      closed = true
      agent?.destroy()
    },
  }
}
