/**
 * Sends a call to an account server: adds credentials, retries the request after transient
 * failures, and interprets the answer.
 */
import { randomBytes } from 'node:crypto'
import type { Outgoing } from '../api/client.ts'
import { EVENT_STREAM } from '../api/event-stream.ts'
import type { Route } from '../api/route.ts'
import { AppError } from '../errors.ts'
import { type Act, requestKey } from '../storage/idempotency.ts'
import { answerError, valueOf } from './answer.ts'
import type { Credentials, ProofState } from './credentials.ts'
import { backendError, Passing, timedOut } from './faults.ts'
import type { StreamKind, Transport, TransportResponse } from './transport.ts'

/**
 * The waits between attempts, in milliseconds. Each is shortened randomly by up to one half, so
 * that many clients do not retry at the same time.
 */
const WAITS_MS = [400, 1_000, 2_000]
/**
 * The longest Retry-After, in milliseconds, for which the client waits and retries. If the server
 * asks for more, the request fails.
 */
const LONGEST_AFTER_MS = 5_000

interface RetryOptions {
  /** Whether the request may be sent again if the server may already have received it. */
  readonly repeatable: boolean
  /** Resolves after `ms` milliseconds, or earlier if the client is closed. */
  readonly wait: (ms: number) => Promise<unknown>
  /** Whether the server is unreachable; shared by all requests to it. */
  readonly outage: Outage
}

/**
 * Whether the server is known to be unreachable. If so, each request makes only one attempt, so
 * that callers do not have to wait for retries.
 */
interface Outage {
  known: boolean
}

/**
 * Repeats an attempt until it succeeds or fails permanently. After transient failures it retries a
 * few times, with growing waits. It does not retry if that could execute an operation twice.
 * @param attempt makes one attempt; `again` is whether the server may have executed an earlier one
 * @throws the AppError of the last attempt
 */
async function persist<T>(
  attempt: (again: boolean) => Promise<T>,
  { repeatable, wait, outage }: RetryOptions,
): Promise<T> {
  const waits = outage.known ? [] : WAITS_MS
  let again = false
  for (let tried = 0; ; tried++) {
    try {
      const value = await attempt(again)
      outage.known = false
      return value
    } catch (error) {
      if (!(error instanceof Passing)) {
        // If the error came from a session renewal inside the attempt, that has made its own
        // retries. A timeout of this client is not retried.
        const { code = null, cause = null } = error instanceof AppError ? error : {}
        const isLate = code === 'backend_timeout' && !(cause instanceof AppError)
        outage.known = code === 'backend_unavailable' || isLate
        throw error
      }
      again ||= error.reached
      const most = waits[tried]
      if (most === undefined) outage.known = error.error.code === 'backend_unavailable'
      const isOver = most === undefined || error.afterMs > LONGEST_AFTER_MS
      if (isOver || (error.reached && !repeatable)) throw error.error
      await wait(Math.max(error.afterMs, most * (1 - Math.random() / 2)))
    }
  }
}

export interface ClientContext {
  readonly transport: Transport
  readonly state: ProofState
  /** Resolves after `ms` milliseconds, or earlier if the client is closed. */
  readonly wait: (ms: number) => Promise<unknown>
  readonly outage: Outage
}

/** The characters of a nonce: NQCHAR (RFC 9449 section 8.1). */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/**
 * How much the clock offset must change before a rejected proof is retried, in milliseconds. It is
 * half of the server's tolerance.
 */
const MOVED_MS = 30_000

/**
 * Returns whether the server rejected the proof rather than the token (RFC 9449 sections 8 and 9).
 */
const refusesProof = ({ status, headers }: TransportResponse) =>
  status === 401 &&
  /\berror="(?:use_dpop_nonce|invalid_dpop_proof)"/.test(headers['www-authenticate'] ?? '')

const keyOf = (act: Pick<Act, 'id'> | null, method: string, path: string): string =>
  act === null ? randomBytes(16).toString('base64url') : requestKey(act, method, path)

/** Returns the body in the route's format: JSON, or a form (RFC 6749 appendix B). */
function contentOf(route: Route, body: unknown): { type: string; text: string } | null {
  if (body === undefined) return null
  const isForm = route.form === true
  if (!isForm) return { type: 'application/json', text: JSON.stringify(body) }
  const fields = Object.entries(body as object).filter(([, value]) => value !== undefined)
  return {
    type: 'application/x-www-form-urlencoded',
    text: new URLSearchParams(fields as [string, string][]).toString(),
  }
}

/** Returns which kind of event stream the answer may be; null if it is none. */
const streamOf = ({ media, lasting }: Route): StreamKind | null =>
  media?.includes(EVENT_STREAM) === true ? (lasting === true ? 'lasting' : 'answer') : null

function headersOf(route: Route, content: ReturnType<typeof contentOf>): Record<string, string> {
  return {
    Accept: route.media !== undefined ? '*/*' : 'application/json',
    'Accept-Encoding': 'identity',
    ...(route.localized && {
      'Accept-Language': Intl.DateTimeFormat().resolvedOptions().locale,
    }),
    ...(content === null
      ? {}
      : {
          'Content-Type': content.type,
          'Content-Length': String(Buffer.byteLength(content.text)),
        }),
  }
}

/**
 * Returns a function that sends calls to the server.
 * @param act the operation from which each `Idempotency-Key` is derived; null for a random key per
 *   call
 */
export function newSend(
  { transport, state, wait, outage }: ClientContext,
  who: Credentials,
  act: Pick<Act, 'id'> | null,
) {
  const { origin } = transport

  function learn({ headers, sentAt, answeredAt }: TransportResponse): void {
    state.clock.observe(headers.date, sentAt, answeredAt)
    const nonce = headers['dpop-nonce']
    if (typeof nonce === 'string' && NONCE.test(nonce)) state.nonce = nonce
  }

  /** Returns the state that a proof depends on, apart from the key. */
  const known = () => ({ nonce: state.nonce, offsetMs: state.clock.offsetMs() ?? 0 })

  /**
   * Makes one attempt. Sends the request again if it only failed because of an old nonce, a wrong
   * clock offset or an expired token.
   */
  async function answered(
    { route, path, query }: Outgoing,
    headers: Record<string, string>,
    body: string | undefined,
  ): Promise<TransportResponse> {
    const { method } = route
    const target = query === '' ? path : `${path}?${query}`
    let mayProve = true
    let mayRenew = true
    for (;;) {
      const token = await who.token()
      const used = known()
      const own = await who.headers(token, { method, url: origin + path })
      const answer = await transport.exchange({
        method,
        target,
        headers: { ...headers, ...own },
        body,
        stream: streamOf(route),
      })
      learn(answer)
      if ('DPoP' in own && refusesProof(answer)) {
        const { nonce, offsetMs } = known()
        const isNews = nonce !== used.nonce || Math.abs(offsetMs - used.offsetMs) > MOVED_MS
        if (!mayProve || !isNews) throw proofRefused(answer)
        mayProve = false
      } else if (answer.status === 401 && mayRenew && who.refused(token)) mayRenew = false
      else return answer
    }
  }

  /**
   * Returns the error for a rejected proof. It is not `not_signed_in`, because the session may
   * still be valid.
   */
  const proofRefused = (answer: TransportResponse) => {
    const refusal = answerError(answer)
    return backendError(
      origin,
      `rejects the proof of this device's key${refusal === null ? '.' : `: ${refusal.message}`} Check that SVC_BACKEND_URL is exactly the server's SVC_PUBLIC_URL, and that both clocks are right.`,
      refusal,
    )
  }

  /**
   * Sends a request.
   * @throws AppError with the server's own error, or `backend_*` if the server sent none
   */
  return async (request: Outgoing): Promise<unknown> => {
    const { route, path, body } = request
    const { method } = route
    // The server accepts no percent-encoding in a path, so an id that needs it cannot exist.
    if (path.includes('%')) throw new AppError('not_found', 'Nothing has this id.')
    const isPost = method === 'POST'
    const repeatable = !isPost || route.repeats !== true
    const key = isPost && repeatable ? keyOf(act, method, path) : null
    const content = contentOf(route, body)
    const headers = headersOf(route, content)
    if (key !== null) headers['Idempotency-Key'] = key

    const attempt = async (again: boolean) => {
      try {
        return valueOf(await answered(request, headers, content?.text), route, origin)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        // The server is still executing an earlier attempt, although its connection was cut.
        if (error.code === 'in_progress' && key !== null)
          throw new Passing(
            timedOut(origin, 'is still processing this request. Try again later.'),
            true,
          )
        // An earlier attempt deleted the resource, and its answer was lost.
        const isGone = error.code === 'not_found' && method === 'DELETE' && !('reply' in route)
        if (isGone && again) return undefined
        throw who.toError(error)
      }
    }
    return persist(attempt, { repeatable, wait, outage })
  }
}
