/**
 * The client of the assistant, which is an endpoint with the OpenAI API. The key is sent only to
 * the configured address. The endpoint's error messages are neither returned nor logged, because
 * they may quote the key and the question.
 */
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import * as v from 'valibot'
import { EVENT_STREAM, isEventStream } from '../../api/event-stream.ts'
import { type Bounds, type Break, type Passage, passage } from '../../api/stream-relay.ts'
import type { AssistantConfig } from '../../config/assistant.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import { readPrivate } from '../../keychain/private-file.ts'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface Patience extends Bounds {
  /** How long to wait until an answer begins, in milliseconds. */
  readonly firstMs: number
}

// Proxies close connections that are silent for a minute. This client times out earlier, so that
// the caller gets an error with the reason.
export const PATIENCE: Patience = {
  firstMs: 50_000,
  silenceMs: 50_000,
  wholeMs: 600_000,
  most: 8 * 1024 * 1024,
}

export interface Assistant {
  /**
   * Requests the next answer in a conversation. Resolves when the answer begins.
   * @param of see `passage`. `whole` is needed because without chunked encoding, the end of the
   *   stream does not prove that the answer is complete (RFC 9112 section 6.3). `ended` is also
   *   called if no answer begins, unless nothing was received at all.
   * @throws AppError `backend_error`, `backend_unavailable` or `backend_timeout` if no answer
   *   begins
   */
  ask(
    messages: readonly ChatMessage[],
    of: {
      onChunk: (bytes: Uint8Array) => void
      whole: () => boolean
      ended: () => Promise<unknown>
    },
  ): Promise<Passage>
}

/** Returns an error. `what` is part of the message for the caller; `cause` is for the log. */
const failed = (code: ErrorCode, what: string, cause: unknown) =>
  new AppError(code, `The assistant ${what}`, { cause })

const cannot = (cause: unknown) =>
  failed(
    'backend_error',
    'is not available. The log of the account server gives the reason to its operator.',
    cause,
  )

/** What an answer must be, and the callbacks for its data. */
interface Hearing {
  readonly accept: string
  readonly isType: (type: string | undefined) => boolean
  readonly onChunk?: (bytes: Uint8Array) => void
  readonly whole?: () => boolean
  readonly ended?: () => Promise<unknown>
}

/**
 * Returns the error for a response with a status other than 200. The status determines the code.
 */
function refused(status: number): AppError {
  const cause = `The endpoint of the assistant answered ${status}.`
  if (status >= 300 && status < 400) return cannot(`${cause} Redirects are not followed.`)
  if (status === 401 || status === 403)
    return cannot(`${cause} Check the key in the file that SVC_ASSISTANT_KEY_FILE names.`)
  if (status === 504 || status === 408)
    return failed('backend_timeout', 'did not answer in time.', cause)
  if (status === 429 || status >= 500)
    return failed('backend_unavailable', 'is busy. Try again later.', cause)
  return cannot(`${cause} Check SVC_ASSISTANT_URL and SVC_ASSISTANT_MODEL.`)
}

/** Returns the error for a response's status and header; null if they are valid. */
function faultOf({ statusCode = 0, headers }: IncomingMessage, isType: Hearing['isType']) {
  if (statusCode !== 200) return refused(statusCode)
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    return cannot(
      'The endpoint of the assistant sent a compressed answer, which was not requested.',
    )
  return isType(headers['content-type'])
    ? null
    : cannot('The endpoint of the assistant does not answer with an event stream.')
}

/**
 * Returns the error for a network failure. It contains only the failure's code, because the message
 * may contain the address.
 */
const unreachable = ({ code = 'no code' }: NodeJS.ErrnoException) =>
  code.startsWith('HPE_')
    ? cannot(`The endpoint of the assistant does not speak HTTP/1.1 (${code}).`)
    : failed(
        'backend_unavailable',
        'cannot be reached. Try again later.',
        `The endpoint of the assistant cannot be reached (${code}).`,
      )

const BROKEN: Readonly<Record<Break, readonly [ErrorCode, string]>> = {
  silent: ['backend_timeout', 'stopped answering, so the answer is incomplete. Ask again.'],
  late: ['backend_timeout', 'took too long, so the answer is incomplete. Ask again.'],
  large: [
    'backend_error',
    'sent an answer that is too long, so this is only its beginning. Ask a shorter question.',
  ],
  broken: ['backend_error', 'closed the connection, so the answer is incomplete. Ask again.'],
}

const broken = (why: Break, cause?: Error) => {
  const [code, what] = BROKEN[why]
  return failed(code, what, cause)
}

const late = () => failed('backend_timeout', 'did not answer in time. Try again later.', undefined)

/**
 * Returns the key; null for an endpoint without a key. The file is read for each request, so that
 * the key can be changed.
 */
function keyIn(file: string | null): string | null {
  if (file === null) return null
  let text: string | null
  try {
    text = readPrivate(file)
  } catch (cause) {
    throw cannot(cause)
  }
  if (text === null) throw cannot('The file that SVC_ASSISTANT_KEY_FILE names does not exist.')
  const key = text.trim()
  // RFC 6750 section 2.1: the characters allowed in the header.
  if (!/^[\x21-\x7e]{1,4096}$/.test(key))
    throw cannot('The file that SVC_ASSISTANT_KEY_FILE names must contain only a key.')
  return key
}

const Models = v.object({
  data: v.looseTuple([v.object({ id: v.pipe(v.string(), v.minLength(1), v.maxLength(200)) })]),
})

/** Returns a client. It opens a new connection for each request. */
export function newAssistant(
  { url, keyFile, model: chosen }: AssistantConfig,
  patience: Patience = PATIENCE,
): Assistant {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest
  /** The first model of the endpoint's list, cached. */
  let first: string | null = null

  /**
   * Resolves with the body of a response as a stream. The status must be 200, and `isType` must
   * accept the media type.
   */
  const exchange = (
    { signal, path, body }: { signal: AbortSignal; path: string; body?: string },
    { accept, isType, ...hearing }: Hearing,
  ) =>
    new Promise<Passage>((resolve, reject) => {
      const key = keyIn(keyFile)
      const req = request(url + path, {
        method: body === undefined ? 'GET' : 'POST',
        // A new connection for each request. A reused connection may be closed by the server at any
        // time, and a question is not sent twice.
        agent: false,
        // Set explicitly, so that no environment variable can disable the check and send the key to
        // another server.
        rejectUnauthorized: true,
        signal,
        headers: {
          Accept: accept,
          'Accept-Encoding': 'identity',
          ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
          ...(body === undefined
            ? {}
            : {
                'Content-Type': 'application/json',
                'Content-Length': String(Buffer.byteLength(body)),
              }),
        },
      })
      // This listener stays registered, because a connection that this side closes may emit another
      // error.
      req.on('error', (error) => reject(signal.aborted ? late() : unreachable(error)))
      req.once('response', (res) => {
        const fault = faultOf(res, isType)
        // The stream must be set up immediately. If the answer broke off before that, no listener
        // would notice.
        const toError = (why: Break, cause?: Error) =>
          signal.aborted ? late() : broken(why, cause)
        if (fault === null) {
          resolve(passage(res, { bounds: patience, toError, ...hearing }))
          return
        }
        res.on('error', () => undefined)
        req.destroy()
        reject(fault)
      })
      req.end(body)
    })

  async function firstModel(signal: AbortSignal): Promise<string> {
    const chunks: Uint8Array[] = []
    const { begun, body } = await exchange(
      { signal, path: '/models' },
      { accept: 'application/json', isType: () => true },
    )
    await begun()
    for await (const chunk of body) chunks.push(chunk)
    const listed = v.safeParse(Models, parsed(Buffer.concat(chunks).toString()))
    if (!listed.success)
      throw cannot('The endpoint of the assistant lists no model. Set SVC_ASSISTANT_MODEL.')
    return listed.output.data[0].id
  }

  return {
    async ask(messages, hearing) {
      const waiting = new AbortController()
      const { signal } = waiting
      const timer = setTimeout(() => waiting.abort(), patience.firstMs)
      try {
        const model = chosen ?? (first ??= await firstModel(signal))
        const body = JSON.stringify({ model, messages, stream: true })
        const answer = await exchange(
          { signal, path: '/chat/completions', body },
          { accept: EVENT_STREAM, isType: isEventStream, ...hearing },
        )
        await answer.begun()
        return answer
      } catch (error) {
        // The cached model may no longer exist.
        first = null
        throw error
      } finally {
        clearTimeout(timer)
      }
    },
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
