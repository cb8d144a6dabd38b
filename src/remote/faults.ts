/**
 * Maps failures of the network, TLS and HTTP to errors for the caller. The messages name the server
 * and the remedy, and quote nothing that was received.
 */
import { TLSSocket } from 'node:tls'
import type { Bounds, Break } from '../api/stream-relay.ts'
import { AppError } from '../errors.ts'

/** A transient failure: the same request may succeed later. */
export class Passing extends Error {
  /** The error for the caller if no attempt succeeds. */
  readonly error: AppError
  /** Whether the server may have received, and therefore executed, the request. */
  readonly reached: boolean
  /** How long the server asked the client to wait, in milliseconds; 0 if it did not ask. */
  readonly afterMs: number

  constructor(error: AppError, reached: boolean, afterMs = 0) {
    super(error.message, { cause: error })
    this.name = 'Passing'
    this.error = error
    this.reached = reached
    this.afterMs = afterMs
  }
}

export const backendError = (origin: string, what: string, cause?: unknown) =>
  new AppError('backend_error', `The account server ${origin} ${what}`, { cause })

/**
 * Returns the error for a timeout.
 * @param cause the server's own error, if it sent one. In that case a system behind the server
 *   timed out.
 */
export const timedOut = (origin: string, what: string, cause?: AppError | null) =>
  new AppError('backend_timeout', `The account server ${origin} ${what}`, { cause })

const LATER = 'Try again later.'

export const unavailable = (
  origin: string,
  what: string,
  cause?: unknown,
  headers?: Record<string, string>,
) =>
  new AppError(
    'backend_unavailable',
    `The account server ${origin} ${what.endsWith(LATER) ? what : `${what} ${LATER}`}`,
    { cause, ...(headers === undefined ? {} : { headers }) },
  )

/** Certificate errors other than an untrusted issuer. */
const CERTIFICATE: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired (or the clock here is wrong)',
  CERT_NOT_YET_VALID: 'is not valid yet (or the clock here is wrong)',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name',
}
const FROM_TLS = /^(EPROTO$|ERR_SSL_|ERR_TLS_)/

function certificateError(origin: string, code: string, cause: Error): AppError {
  const what = CERTIFICATE[code] ?? 'is not signed by an authority that is trusted here'
  const remedy =
    code === 'ERR_TLS_CERT_ALTNAME_INVALID'
      ? 'Check the name in SVC_BACKEND_URL.'
      : 'If the server uses its own certificate authority, set SVC_CA_FILE to the PEM file of that authority.'
  return backendError(origin, `is not trusted: its certificate ${what} (${code}). ${remedy}`, cause)
}

/**
 * Maps a failed exchange to an error.
 * @param reached whether the connection for the request was established
 * @returns a Passing or an AppError, to be thrown
 */
export function networkFault(
  origin: string,
  cause: NodeJS.ErrnoException,
  socket: unknown,
  reached: boolean,
): Passing | AppError {
  const code = cause.code ?? ''
  // The reason why the certificate was rejected; not set if it was accepted.
  if (socket instanceof TLSSocket && socket.authorizationError) {
    const reason: unknown = socket.authorizationError
    return certificateError(origin, typeof reason === 'string' ? reason : code, cause)
  }
  if (FROM_TLS.test(code))
    return backendError(
      origin,
      `does not speak TLS as expected (${code}). Check that SVC_BACKEND_URL begins with https and names the TLS port.`,
      cause,
    )
  if (code.startsWith('HPE_'))
    return backendError(origin, 'did not answer in HTTP/1.1. Check SVC_BACKEND_URL.', cause)
  // The operating system reports this code if its own timeout is shorter than the client's.
  if (code === 'ETIMEDOUT')
    return timedOut(origin, 'could not be reached in time. Try again later.')
  return new Passing(
    unavailable(
      origin,
      code === 'ENOTFOUND'
        ? 'has a name that cannot be resolved. Check SVC_BACKEND_URL, and whether this machine is online.'
        : reached
          ? 'closed the connection before its answer was complete.'
          : 'cannot be reached.',
      cause,
    ),
    reached,
  )
}

/** Returns the error for a lasting stream from the server that this side or a fault has ended. */
export function lastingFault(
  origin: string,
  { silenceMs, wholeMs, most }: Bounds,
  why: Break,
  cause?: Error,
): AppError {
  if (why === 'silent') return timedOut(origin, `sent nothing for ${silenceMs / 1000} seconds.`)
  if (why === 'late')
    return timedOut(
      origin,
      `has sent one stream for ${wholeMs / 60_000} minutes, the longest time.`,
    )
  return backendError(
    origin,
    why === 'large'
      ? `sent more than ${most} bytes in one stream.`
      : 'is no longer connected: the connection of the stream broke.',
    cause,
  )
}

/** Returns the error for a streamed answer from the server that ended too early. */
export function streamFault(origin: string, why: Break, cause?: Error): AppError {
  if (why === 'silent') return timedOut(origin, 'stopped sending before its answer was complete.')
  if (why === 'late') return timedOut(origin, 'took too long to answer.')
  return backendError(
    origin,
    why === 'large'
      ? 'sent an answer that is too large.'
      : 'closed the connection before its answer was complete. Try again.',
    cause,
  )
}
