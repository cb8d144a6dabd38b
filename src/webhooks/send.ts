/**
 * Sends one request to the receiver of a webhook.
 *
 * It connects only to the given addresses, follows no redirect and uses no proxy. Only the status
 * of the response counts.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import type { LookupAddress } from 'node:dns'
import { isIPv6 } from 'node:net'
import { VERSION } from '../runtime/version.ts'
import type { Timers } from '../runtime/timers.ts'

/** How long a connection and the whole request may take, in milliseconds. */
const [CONNECT_MS, WHOLE_MS] = [5_000, 15_000]
/** How much of a response is read, in bytes. The rest of it closes the connection. */
const MOST_READ = 65_536

export type SendError = 'closed' | 'not_reachable' | 'timeout' | 'tls'

/** The outcome of a request. */
export type SendOutcome =
  { readonly status: number; readonly retryAfterMs: number | null } | { readonly error: SendError }

export interface Message {
  readonly url: string
  /** The addresses of the host, which were checked. */
  readonly addresses: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Codes of failures before the connection is there (libuv). */
const NOT_REACHABLE =
  /^E(?:CONNREFUSED|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|ADDRNOTAVAIL|ACCES|PERM|INVAL|TIMEDOUT)$/

function errorOf(cause: unknown, isTls: boolean, isSecure: boolean): SendError {
  const { code = '' } = cause as { code?: string }
  if (NOT_REACHABLE.test(code)) return 'not_reachable'
  // Everything between the connection and the end of the handshake has to do with TLS.
  return isTls && !isSecure ? 'tls' : 'closed'
}

/** Returns the wait that a response demands (RFC 9110 section 10.2.3), if it is in seconds. */
function retryAfterMs({ headers }: IncomingMessage): number | null {
  const seconds = headers['retry-after'] ?? ''
  return /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : null
}

/** Reads a response to its end, so that the receiver sees no broken connection. */
function drain(response: IncomingMessage, request: ClientRequest): void {
  let read = 0
  response.on('data', (bytes: Buffer) => {
    read += bytes.length
    if (read > MOST_READ) request.destroy()
  })
  response.on('error', () => undefined)
}

/**
 * Sends a request. Ends it if `signal` is aborted; the outcome is then `closed`.
 * @param ca certificates to trust in place of the system's, for tests
 */
export async function send(
  { url, addresses, headers, body }: Message,
  { timers, signal, ca }: { timers: Timers; signal: AbortSignal; ca?: string | undefined },
): Promise<SendOutcome> {
  const isTls = url.startsWith('https:')
  const { request: start } = isTls ? await import('node:https') : await import('node:http')
  const found: LookupAddress[] = addresses.map((address) => ({
    address,
    family: isIPv6(address) ? 6 : 4,
  }))
  const options: RequestOptions & { rejectUnauthorized: boolean; ca?: string } = {
    method: 'POST',
    headers: {
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      'User-Agent': `countersignd/${VERSION}`,
    },
    // A connection of its own, without the proxies of the environment.
    agent: false,
    rejectUnauthorized: true,
    ...(ca === undefined ? {} : { ca }),
    lookup: (_host, { all }, done) => {
      if (all === true) return done(null, found)
      const [{ address, family }] = found as [LookupAddress]
      return done(null, address, family)
    },
  }
  return new Promise((resolve) => {
    let isSecure = false
    const request = start(url, options)
    const stopConnect = timers.after(CONNECT_MS, () => end({ error: 'timeout' }))
    const stopWhole = timers.after(WHOLE_MS, () => end({ error: 'timeout' }))
    const abort = () => end({ error: 'closed' })

    /** Ends the request with an outcome. */
    function end(outcome: SendOutcome): void {
      resolve(outcome)
      request.destroy()
    }

    request.once('socket', (socket) => {
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        isSecure = true
        stopConnect()
      })
    })
    request.once('response', (response) => {
      resolve({ status: response.statusCode as number, retryAfterMs: retryAfterMs(response) })
      drain(response, request)
    })
    request.on('error', (cause) => resolve({ error: errorOf(cause, isTls, isSecure) }))
    request.once('close', () => {
      stopConnect()
      stopWhole()
      signal.removeEventListener('abort', abort)
      resolve({ error: 'closed' })
    })
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    else request.end(body)
  })
}
