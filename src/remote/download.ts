/** The file behind a link of an account server, as it comes. Nothing is followed, and nothing but the link is sent. */
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { AppError } from '../errors.ts'
import { Passing, backendError, networkFault, timedOut } from './faults.ts'
import { agentFor, demandCertificate, originOf } from './transport.ts'

/** How long nothing may come. */
const SILENCE_MS = 30_000

export interface Download {
  /** In bytes, as the server says; null where it does not. */
  readonly size: number | null
  /** Throws AppError where it breaks off. */
  readonly bytes: AsyncIterable<Uint8Array>
  /** Cut the connection. */
  close(): void
}

const noSuchLink = () =>
  new AppError(
    'not_found',
    'The link is not good any more: it is for five minutes. Ask for another.',
  )

/** Throws AppError for an answer that is no file of this type. */
function demandFile(
  origin: string,
  { statusCode: status, headers }: IncomingMessage,
  type: string,
) {
  if (status === 404) throw noSuchLink()
  if (status !== 200) throw backendError(origin, `failed with ${status}.`)
  if (headers['content-type'] !== type)
    throw backendError(origin, 'answers with something else than a file.')
}

/**
 * Begin a download.
 * @param of `url` is taken by https, or by http on this machine; `ca` is the PEM of further authorities, `type` the media type
 * @throws AppError `not_found` for a link that is not good any more, `backend_error`, `backend_unavailable`, `backend_timeout`;
 *   StartError configuration for a URL or a PEM that is none
 */
export async function download(of: {
  url: string
  type: string
  ca: string | null
  silenceMs?: number
}): Promise<Download> {
  const { url, type, ca, silenceMs = SILENCE_MS } = of
  const { protocol, origin } = originOf(`${URL.parse(url)?.origin}/`)
  if (ca !== null) demandCertificate(ca)
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
        silence = timedOut(origin, 'fell silent.')
        req.destroy()
      })
      req.once('response', resolve)
      // Stays, because a connection that is cut may complain once more.
      req.on('error', (cause) => reject(fault(cause, req.socket, false)))
      req.end()
    })
    demandFile(origin, res, type)
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
