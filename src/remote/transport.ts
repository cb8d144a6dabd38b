/**
 * Performs one HTTP exchange with an account server. The size and time of the answer are limited.
 * It is returned as a whole, or as a stream if one was requested. Redirects are not followed. Other
 * modules validate the answer.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Agent as HttpAgent, type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext, getCACertificates } from 'node:tls'
import { urlToHttpOptions } from 'node:url'
import { EVENT_STREAM } from '../api/event-stream.ts'
import { passage } from '../api/stream-relay.ts'
import { isPrivateUrl } from '../config/values.ts'
import { Refusal } from '../crypto/refusal.ts'
import { AppError, StartError } from '../errors.ts'
import {
  backendError,
  lastingFault,
  networkFault,
  type Passing,
  streamFault,
  timedOut,
  unavailable,
} from './faults.ts'

/**
 * Returns the content of `file`, the PEM file that SVC_CA_FILE names; null if `file` is null. The
 * certificate authorities in it are trusted in addition to those that Node trusts by default.
 * @throws StartError if it cannot be read
 */
export function readAuthority(file: string | null): string | null {
  if (file === null) return null
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new StartError(
      'configuration',
      `SVC_CA_FILE names ${file}, which cannot be read (${(cause as NodeJS.ErrnoException).code}).`,
      cause,
    )
  }
}

/** The largest accepted answer, in bytes. */
const LARGEST = 16 * 1024 * 1024
const MOST_SOCKETS = 64
// An assistant may pause before it answers. The server's own limit for a pause is shorter than
// `silenceMs`, so that the server can report the timeout itself.
const TIMEOUTS = {
  connectMs: 5_000,
  answerMs: 30_000,
  silenceMs: 90_000,
  streamMs: 900_000,
  // A stream of hints has a line every 20 seconds.
  beatMs: 60_000,
  lastingMs: 3_600_000,
} satisfies Timeouts

export interface Timeouts {
  /** For connecting, including the TLS handshake. */
  readonly connectMs: number
  /** For the whole exchange. */
  readonly answerMs: number
  /** For the start of an answer that may be a stream, and for each pause in it. */
  readonly silenceMs?: number
  /** For the whole of a stream. */
  readonly streamMs?: number
  /** For each pause in a lasting stream. */
  readonly beatMs?: number
  /** For the whole of a lasting stream. */
  readonly lastingMs?: number
}

/** A stream that is an answer, and one that lasts until one side closes it. */
export type StreamKind = 'answer' | 'lasting'

interface Question {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  /** Set if an event stream is returned as a stream. Every other answer is read completely. */
  readonly stream?: StreamKind | null
}

export interface TransportResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Used in place of the body if an event stream was requested and the server sent one. */
  readonly stream?: AsyncIterable<Uint8Array>
  /**
   * When the request was sent and when the answer began, in Unix milliseconds of this machine's
   * clock.
   */
  readonly sentAt: number
  readonly answeredAt: number
}

export interface Transport {
  readonly origin: string
  /** @throws AppError, or Passing for a transient failure */
  exchange(question: Question): Promise<TransportResponse>
  /** Closes every connection. Exchanges in progress fail. */
  close(): void
}

/**
 * Returns the URL of an account server.
 * @throws StartError if it is not an origin, or if it is http to another machine
 */
export function originOf(base: string): URL {
  const url = URL.parse(base)
  if (url === null || url.href !== `${url.origin}/`)
    throw new StartError(
      'configuration',
      'The address of the account server must be an origin alone: https://host[:port].',
    )
  if (isPrivateUrl(url)) return url
  throw new StartError(
    'configuration',
    `The account server ${url.origin} must be reached by https. http is allowed only on this machine.`,
  )
}

/**
 * Checks that a PEM text contains a certificate.
 * @throws StartError if it does not
 */
export function requireCertificate(pem: string): void {
  try {
    new X509Certificate(pem)
  } catch (cause) {
    throw new StartError(
      'configuration',
      'SVC_CA_FILE contains no certificate in PEM (-----BEGIN CERTIFICATE-----).',
      cause,
    )
  }
}

/** Returns a TLS context that trusts Node's, the system's and the additional authorities. */
function trust(ca: string | null) {
  const known = [...getCACertificates('default'), ...getCACertificates('system')]
  return createSecureContext({ ca: [...new Set(known), ...(ca === null ? [] : [ca])] })
}

/**
 * Returns the agent that keeps the connections to a server.
 * @param ca the PEM of additional authorities
 */
export function agentFor(url: URL, ca: string | null): HttpAgent {
  const options = { keepAlive: true, maxSockets: MOST_SOCKETS }
  return url.protocol === 'http:'
    ? new HttpAgent(options)
    : // Set explicitly, so that no environment variable can change it.
      new HttpsAgent({ ...options, secureContext: trust(ca), rejectUnauthorized: true })
}

/**
 * Creates a transport. It connects at the first request.
 * @param of `base`: the server's origin; `ca`: the PEM of additional authorities; `now`: Unix
 *   milliseconds
 * @throws StartError `configuration` if `base` is not an origin, if it is http to another machine,
 *   or if the PEM is invalid
 */
export function openTransport(of: {
  base: string
  ca: string | null
  now: () => number
  timeouts?: Timeouts
}): Transport {
  const { now } = of
  const timeouts = { ...TIMEOUTS, ...of.timeouts }
  const boundsOf = {
    answer: { silenceMs: timeouts.silenceMs, wholeMs: timeouts.streamMs },
    lasting: { silenceMs: timeouts.beatMs, wholeMs: timeouts.lastingMs },
  }
  const url = originOf(of.base)
  const { origin } = url
  if (of.ca !== null) requireCertificate(of.ca)
  // Created at the first use, because reading several hundred authorities takes longer than the
  // rest of a start.
  let agent: HttpAgent | null = null
  const isSecure = url.protocol === 'https:'
  const request = isSecure ? httpsRequest : httpRequest
  const target = urlToHttpOptions(url)
  /** Established connections, which the agent reuses for waiting requests. */
  const open = new WeakSet<Socket>()
  let closed = false

  const ask = ({ method, target: path, headers, body, stream: kind = null }: Question) =>
    new Promise<TransportResponse>((resolve, reject) => {
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
        kind === 'answer' ? timeouts.silenceMs : timeouts.answerMs,
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
      // This listener stays registered, because a connection that this side closes may emit another
      // error.
      req.on('error', lost)
      req.once('response', (res) => {
        const answeredAt = now()
        const { statusCode: status = 0, headers } = res
        const isStream = headers['content-type'] === EVENT_STREAM && status === 200
        if (kind !== null && isStream && headers['content-encoding'] === undefined) {
          settle()
          const bounds = { ...boundsOf[kind], most: LARGEST }
          const isLasting = kind === 'lasting'
          const { body: stream } = passage(res, {
            bounds,
            toError: (why, cause) =>
              isLasting
                ? lastingFault(origin, bounds, why, cause)
                : streamFault(origin, why, cause),
            throws: isLasting,
          })
          resolve({ status, headers, body: Buffer.alloc(0), stream, sentAt, answeredAt })
          return
        }
        const tooLarge = () => {
          const cause = new Refusal('too_large', `an answer of more than ${LARGEST} bytes`)
          cut(backendError(origin, `sent an answer of more than ${LARGEST} bytes.`, cause))
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
      if (closed) throw unavailable(origin, 'was not contacted, because this program is ending.')
      return ask(question)
    },
    close() {
      closed = true
      agent?.destroy()
    },
  }
}
