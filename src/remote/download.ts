/**
 * Downloads the file at a link of an account server as a stream. Redirects are not followed, and
 * the request contains no credentials apart from the link.
 */
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { AppError } from '../errors.ts'
import { Passing, backendError, networkFault, timedOut } from './faults.ts'
import { agentFor, requireCertificate, originOf } from './transport.ts'

/** The longest accepted pause without data, in milliseconds. */
const SILENCE_MS = 30_000

export interface Download {
  /** In bytes, from Content-Length; null if the server does not send that header. */
  readonly size: number | null
  /** Throws AppError if the connection breaks. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** Closes the connection. */
  close(): void
}

const noSuchLink = () =>
  new AppError(
    'not_found',
    'The download link has expired. Links are valid for five minutes. Request a new one.',
  )

/**
 * Checks that an answer is a file with this media type.
 * @throws AppError `not_found` or `backend_error`
 */
function requireFile(
  origin: string,
  { statusCode: status, headers }: IncomingMessage,
  type: string,
) {
  if (status === 404) throw noSuchLink()
  if (status !== 200) throw backendError(origin, `failed with ${status}.`)
  if (headers['content-type'] !== type) throw backendError(origin, 'did not answer with a file.')
}

/**
 * Starts a download.
 * @param of `url`: https, or http on this machine; `ca`: the PEM of additional authorities;
 * `type`: the media type
 * @throws AppError `not_found` for a link that is no longer valid, `backend_error`,
 * `backend_unavailable`, `backend_timeout`; StartError configuration for an invalid URL or PEM
 */
export async function download(of: {
  url: string
  type: string
  ca: string | null
  silenceMs?: number
}): Promise<Download> {
  const { url, type, ca, silenceMs = SILENCE_MS } = of
  const { protocol, origin } = originOf(`${URL.parse(url)?.origin}/`)
  if (ca !== null) requireCertificate(ca)
  const agent = agentFor(new URL(url), ca)
  const request = protocol === 'https:' ? httpsRequest : httpRequest
  let silence: AppError | null = null
  const fault = (cause: Error, socket: unknown, reached: boolean) => {
    if (silence !== null) return silence
    const found = networkFault(origin, cause, socket, reached)
    return found instanceof Passing ? found.error : found
  }
  try {
    const res = await new Promise<IncomingMessage>((resolve, reject) => {
      const req = request(url, { agent, timeout: silenceMs })
      req.once('timeout', () => {
        silence = timedOut(origin, 'stopped sending data.')
        req.destroy()
      })
      req.once('response', resolve)
      // This listener stays registered, because a closed connection may emit another error.
      req.on('error', (cause) => reject(fault(cause, req.socket, false)))
      req.end()
    })
    requireFile(origin, res, type)
    const length = res.headers['content-length']
    async function* bytes() {
      try {
        yield* res as AsyncIterable<Uint8Array>
      } catch (cause) {
        throw fault(cause as Error, res.socket, true)
      }
    }
    return {
      size: length === undefined ? null : Number(length),
      bytes: bytes(),
      close: () => agent.destroy(),
    }
  } catch (error) {
    agent.destroy()
    throw error
  }
}
