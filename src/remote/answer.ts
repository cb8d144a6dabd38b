/**
 * Interprets the responses of an account server, which is not trusted. A reply must match the
 * schema of its route, and an error must have the common format and a known code. No text from the
 * server is shown unfiltered.
 */
import * as v from 'valibot'
import { CONVERSATION_HEADER, TURN_HEADER } from '../api/rest/assistant.ts'
import type { Content, Route } from '../api/route.ts'
import { withoutKeys } from '../crypto/encoding/redact.ts'
import { UNSHOWABLE } from '../crypto/encoding/quoted.ts'
import { AppError, CODES, type ErrorCode, type Details, statusOf } from '../errors.ts'
import { Passing, backendError, timedOut, unavailable } from './faults.ts'
import type { TransportResponse } from './transport.ts'

const LONGEST_MESSAGE = 500
/**
 * How many characters of a text are processed. This is more than LONGEST_MESSAGE, because parts may
 * be removed from the text before it is shortened to that length.
 */
const LONGEST_QUOTED = 4 * LONGEST_MESSAGE
const MOST_ITEMS = 20
/** The longest accepted Retry-After, in seconds. */
const LONGEST_AFTER_S = 86_400

const RUNS = new RegExp(`[${UNSHOWABLE}]+`, 'gu')
const shown = (text: string) => text.slice(0, LONGEST_MESSAGE).toWellFormed().replaceAll(RUNS, ' ')

const Text = v.pipe(v.string(), v.transform(shown))
/**
 * A sentence from the server. It may quote credentials from the request, which are removed because
 * the caller must not see them.
 */
const Sentence = v.pipe(
  v.string(),
  v.transform((text) => shown(withoutKeys(text.slice(0, LONGEST_QUOTED)))),
)
const few = <const T extends v.GenericSchema>(item: T) =>
  v.pipe(
    v.array(item),
    v.transform((items) => items.slice(0, MOST_ITEMS)),
  )
/** Omits a detail if its type is wrong. */
const detail = <const T extends v.GenericSchema>(schema: T) =>
  v.fallback(v.optional(schema), undefined)

const Refused = v.object({
  error: v.picklist(CODES),
  message: Sentence,
  required_scope: detail(Sentence),
  issues: detail(few(v.object({ path: Sentence, message: Sentence }))),
  state: detail(Sentence),
  head: detail(Text),
  found: detail(v.number()),
  word: detail(Sentence),
  suggestions: detail(few(Sentence)),
  error_description: detail(Sentence),
})

/** Returns the parsed body, or undefined if the body is not JSON in UTF-8. */
function jsonOf({ headers, body }: TransportResponse): unknown {
  const isJson = /^application\/json *(?:; *charset="?utf-8"? *)?$/i.test(
    headers['content-type'] ?? '',
  )
  if (!isJson || headers['content-encoding'] !== undefined) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    return undefined
  }
}

/**
 * Returns Retry-After in seconds (RFC 9110 section 10.2.3); null if it is missing or not a number
 * of seconds up to LONGEST_AFTER_S.
 */
function retryAfter({ headers }: TransportResponse): number | null {
  const text = headers['retry-after'] ?? ''
  return /^\d{1,5}$/.test(text) && Number(text) <= LONGEST_AFTER_S ? Number(text) : null
}

const waiting = (afterS: number | null): Record<string, string> =>
  afterS === null ? {} : { 'Retry-After': String(afterS) }

/**
 * Returns the error in an answer; null unless it has the common format, a known code and that
 * code's status.
 */
export function answerError(answer: TransportResponse): AppError | null {
  const parsed = v.safeParse(Refused, jsonOf(answer))
  if (!parsed.success) return null
  const { error, message, ...given } = parsed.output
  if (statusOf(error as ErrorCode) !== answer.status) return null
  const known = Object.entries(given).filter(([, value]) => value !== undefined)
  const headers = answer.status === 429 ? waiting(retryAfter(answer)) : {}
  return new AppError(error as ErrorCode, message, {
    details: Object.fromEntries(known) as Details,
    headers,
  })
}

/** Returns the error to throw for an answer with a status of 400 or more. */
function failure(answer: TransportResponse, origin: string): AppError | Passing {
  const { status } = answer
  const refusal = answerError(answer)
  if (status < 500 && refusal !== null) return refusal
  // A proxy answers 502 if the server is down. The server itself uses 502, in the common format,
  // for failures of systems behind it.
  if (status === 503 || (status === 502 && refusal === null)) {
    const afterS = retryAfter(answer)
    const what = refusal === null ? `is not ready (${status}).` : `reports: ${refusal.message}`
    const error = unavailable(origin, what, refusal, waiting(afterS))
    return new Passing(error, true, (afterS ?? 0) * 1000)
  }
  if (refusal?.code === 'backend_error') return backendError(origin, `reports: ${refusal.message}`)
  if (status === 429)
    return new AppError(
      'rate_limited',
      `The account server ${origin}, or a proxy in front of it, received too many requests. Wait before you try again.`,
      { headers: waiting(retryAfter(answer)) },
    )
  if (status === 504)
    return timedOut(
      origin,
      refusal === null ? 'did not answer in time (504).' : `reports: ${refusal.message}`,
      refusal,
    )
  const code = refusal === null ? '' : ` ${refusal.code}`
  const doubt = refusal === null ? ' It may not be an account server. Check SVC_BACKEND_URL.' : ''
  return backendError(origin, `failed with ${status}${code}.${doubt}`, refusal)
}

/** The header fields that are passed on with a content. The value of each is an id. */
const BROUGHT = [CONVERSATION_HEADER, TURN_HEADER]

function broughtBy({ headers }: TransportResponse): Record<string, string> {
  const found = BROUGHT.map((name) => [name, headers[name.toLowerCase()]] as const)
  return Object.fromEntries(
    found.filter((one): one is [string, string] => /^\w{1,64}$/.test(String(one[1] ?? ''))),
  )
}

const isObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function contentOf(answer: TransportResponse, media: readonly string[]): Content | null {
  const type = answer.headers['content-type'] ?? ''
  if (!media.includes(type) || answer.headers['content-encoding'] !== undefined) return null
  // The caller parses this JSON and expects an object.
  if (type === 'application/json' && !isObject(jsonOf(answer))) return null
  return { type, body: answer.stream ?? answer.body, headers: broughtBy(answer) }
}

/**
 * Returns the value of an answer, parsed by the route's schema; undefined if the route has no
 * reply.
 * @throws AppError with the server's error, or `backend_*` if the answer does not fit this route;
 *   Passing for a transient failure
 */
export function valueOf(answer: TransportResponse, route: Route, origin: string): unknown {
  const { status } = answer
  if (status >= 400) throw failure(answer, origin)
  const wrong = (what: string) =>
    backendError(
      origin,
      `answers ${route.method} ${route.path} ${what}. It may not be an account server, or may be older than this program.`,
    )
  if (status >= 300) throw wrong(`with a redirect (${status}), which is not followed`)
  if (status !== (route.status ?? 200)) throw wrong(`with the status ${status}`)
  const { reply, media } = route
  if (media !== undefined) {
    const content = contentOf(answer, media)
    if (content === null) throw wrong('with another media type, or with an unknown value')
    return content
  }
  if (reply === undefined) return undefined
  const value = jsonOf(answer)
  if (value === undefined) throw wrong('with a body that is not JSON')
  const parsed = v.safeParse(reply, value, { abortEarly: true })
  if (parsed.success) return parsed.output
  const at = v.getDotPath(parsed.issues[0])
  throw wrong(`with a body of an unexpected form${at === null ? '' : ` (at ${shown(at)})`}`)
}
