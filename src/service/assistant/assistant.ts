/**
 * The client of the assistant: an endpoint that speaks the interface of OpenAI. Its key goes to its own address and nowhere else, and
 * what it says of a failure reaches neither caller nor log, since it may quote both key and question.
 */
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import * as v from 'valibot'
import { EVENT_STREAM, isEventStream } from '../../api/event-stream.ts'
import { type Bounds, type Break, type Passage, passage } from '../../api/stream-relay.ts'
import type { AssistantConfig } from '../../config/assistant.ts'
import { AppError, type Code } from '../../errors.ts'
import { readPrivate } from '../../keychain/private-file.ts'

export interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface Patience extends Bounds {
  /** How long it may take until an answer begins, in milliseconds. */
  readonly firstMs: number
}

// Proxies cut what is silent for a minute: this side should be the first to say why.
export const PATIENCE: Patience = {
  firstMs: 50_000,
  silenceMs: 50_000,
  wholeMs: 600_000,
  most: 8 * 1024 * 1024,
}

export interface Assistant {
  /**
   * Ask for the next answer of a conversation. Resolves when it begins.
   * @param of see `passage`: without chunks an end says nothing (RFC 9112 section 6.3); `ended` is also called where no answer begins, unless nothing of it came at all
   * @throws AppError `backend_error`, `backend_unavailable` or `backend_timeout` where none begins
   */
  ask(
    messages: readonly Message[],
    of: {
      heard: (bytes: Uint8Array) => void
      whole: () => boolean
      ended: () => Promise<unknown>
    },
  ): Promise<Passage>
}

/** What a caller is told, and what the log is. */
const failed = (code: Code, what: string, cause: unknown) =>
  new AppError(code, `The assistant ${what}`, { cause })

const cannot = (cause: unknown) =>
  failed(
    'backend_error',
    'cannot be asked. Whoever runs the account server finds in its log why not.',
    cause,
  )

/** What an answer must be, and who hears of it. */
interface Hearing {
  readonly accept: string
  readonly isType: (type: string | undefined) => boolean
  readonly heard?: (bytes: Uint8Array) => void
  readonly whole?: () => boolean
  readonly ended?: () => Promise<unknown>
}

/** An answer that is none. Whose fault it is says the status. */
function refused(status: number): AppError {
  const cause = `The endpoint of the assistant answered ${status}.`
  if (status >= 300 && status < 400) return cannot(`${cause} Redirects are not followed.`)
  if (status === 401 || status === 403)
    return cannot(`${cause} See to the key in the file that SVC_ASSISTANT_KEY_FILE names.`)
  if (status === 504 || status === 408)
    return failed('backend_timeout', 'did not answer in time.', cause)
  if (status === 429 || status >= 500)
    return failed('backend_unavailable', 'has no time now. Try again later.', cause)
  return cannot(`${cause} See to SVC_ASSISTANT_URL and SVC_ASSISTANT_MODEL.`)
}

/** What is wrong with the head of an answer; null for nothing. */
function faultOf({ statusCode = 0, headers }: IncomingMessage, isType: Hearing['isType']) {
  if (statusCode !== 200) return refused(statusCode)
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    return cannot('The endpoint of the assistant answers compressed, which was not asked for.')
  return isType(headers['content-type'])
    ? null
    : cannot('The endpoint of the assistant does not answer with an event stream.')
}

/** Of a failure of the network only the code is told: its message may hold the address. */
const unreachable = ({ code = 'no code' }: NodeJS.ErrnoException) =>
  code.startsWith('HPE_')
    ? cannot(`The endpoint of the assistant does not speak HTTP/1.1 (${code}).`)
    : failed(
        'backend_unavailable',
        'cannot be reached. Try again later.',
        `The endpoint of the assistant cannot be reached (${code}).`,
      )

const BROKEN: Readonly<Record<Break, readonly [Code, string]>> = {
  silent: ['backend_timeout', 'fell silent: what came is not the whole answer. Ask again.'],
  late: ['backend_timeout', 'took too long: what came is not the whole answer. Ask again.'],
  large: ['backend_error', 'said too much: what came is not the whole answer. Ask for less.'],
  broken: ['backend_error', 'broke off: what came is not the whole answer. Ask again.'],
}

const broken = (why: Break, cause?: Error) => {
  const [code, what] = BROKEN[why]
  return failed(code, what, cause)
}

const late = () => failed('backend_timeout', 'did not answer in time. Try again later.', undefined)

/** The key, read anew each time so that it can be changed; null for an endpoint without one. */
function keyIn(file: string | null): string | null {
  if (file === null) return null
  let text: string | null
  try {
    text = readPrivate(file)
  } catch (cause) {
    throw cannot(cause)
  }
  if (text === null) throw cannot('The file that SVC_ASSISTANT_KEY_FILE names is not there.')
  const key = text.trim()
  // RFC 6750 section 2.1: what may stand in the header.
  if (!/^[\x21-\x7e]{1,4096}$/.test(key))
    throw cannot('The file that SVC_ASSISTANT_KEY_FILE names does not hold a key alone.')
  return key
}

const Models = v.object({
  data: v.looseTuple([v.object({ id: v.pipe(v.string(), v.minLength(1), v.maxLength(200)) })]),
})

/** Open the client; it connects when it is asked. */
export function newAssistant(
  { url, keyFile, model: chosen }: AssistantConfig,
  patience: Patience = PATIENCE,
): Assistant {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest
  /** Asked for once. */
  let first: string | null = null

  /** Resolves with what passes of an answer of 200, whose type `isType` knows. */
  const exchange = (
    { signal, path, body }: { signal: AbortSignal; path: string; body?: string },
    { accept, isType, ...hearing }: Hearing,
  ) =>
    new Promise<Passage>((resolve, reject) => {
      const key = keyIn(keyFile)
      const req = request(url + path, {
        method: body === undefined ? 'GET' : 'POST',
        // A connection for each: one that was kept may be gone, and a question is not repeated.
        agent: false,
        // Said here, so that no variable of the environment says otherwise: the key goes to nobody else.
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
      // Stays, because a connection that is cut by this side may complain once more.
      req.on('error', (error) => reject(signal.aborted ? late() : unreachable(error)))
      req.once('response', (res) => {
        const fault = faultOf(res, isType)
        // At once: of an answer that breaks off meanwhile, nobody would hear.
        const told = (why: Break, cause?: Error) => (signal.aborted ? late() : broken(why, cause))
        if (fault === null) {
          resolve(passage(res, { bounds: patience, told, ...hearing }))
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
      throw cannot('The endpoint of the assistant lists no model: set SVC_ASSISTANT_MODEL.')
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
        // It may be that this model is no more.
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
