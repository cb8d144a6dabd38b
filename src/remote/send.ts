/**
 * Sends the call of a row: adds credentials, repeats the request until there is an answer, and
 * interprets the answer.
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
import type { Transport, TransportResponse } from './transport.ts'

/**
 * The longest waits between attempts, in milliseconds. Each is shortened at random by up to a
 * half, so that many clients do not retry in step.
 */
const WAITS_MS = [400, 1_000, 2_000]
/** The longest requested wait, in milliseconds, after which a request is tried again. */
const LONGEST_AFTER_MS = 5_000

interface RetryOptions {
  /** Whether a request that the server may have received may be sent again. */
  readonly repeatable: boolean
  /** Resolves after so many milliseconds, or early when the client is closed. */
  readonly wait: (ms: number) => Promise<unknown>
  /** The outage of the server, shared by all its requests. */
  readonly outage: Outage
}

/**
 * While the server is known to be unreachable, each request makes a single attempt, so that no
 * caller waits.
 */
interface Outage {
  known: boolean
}

/**
 * Repeats an attempt until it succeeds or fails permanently: after a transient failure a few times,
 * with growing waits, and never so that an operation is done twice.
 * @param attempt called with whether the server may have carried out an earlier attempt
 * @throws AppError of the last attempt
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
        // A renewal inside the attempt has its own retries; a timeout is not retried.
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
  /** Resolves after so many milliseconds, or early when the client is closed. */
  readonly wait: (ms: number) => Promise<unknown>
  readonly outage: Outage
}

/** The characters of a nonce: NQCHAR (RFC 9449 section 8.1). */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/**
 * How far the measured clock must have moved to repeat a rejected proof, in milliseconds: half
 * the leeway of the server.
 */
const MOVED_MS = 30_000

/** Returns whether the server rejects the proof and not the token (RFC 9449 sections 8 and 9). */
const refusesProof = ({ status, headers }: TransportResponse) =>
  status === 401 &&
  /\berror="(?:use_dpop_nonce|invalid_dpop_proof)"/.test(headers['www-authenticate'] ?? '')

const keyOf = (act: Pick<Act, 'id'> | null, method: string, path: string): string =>
  act === null ? randomBytes(16).toString('base64url') : requestKey(act, method, path)

/** Returns the body in the format of its row: JSON, or a form (RFC 6749 appendix B). */
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

/** Returns whether an answer may be a stream, which may take longer than other answers. */
const isStreamed = (route: Route): boolean => route.media?.includes(EVENT_STREAM) === true

function headersOf(route: Route, content: ReturnType<typeof contentOf>): Record<string, string> {
  return {
    Accept: route.media !== undefined ? '*/*' : 'application/json',
    'Accept-Encoding': 'identity',
    ...(content === null
      ? {}
      : {
          'Content-Type': content.type,
          'Content-Length': String(Buffer.byteLength(content.text)),
        }),
  }
}

/**
 * Returns the function that sends the calls of a table to the server.
 * @param act the operation that every `Idempotency-Key` is derived from; null for a new key per
 * call
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

  /** Returns the state that a proof depends on beside its key. */
  const known = () => ({ nonce: state.nonce, offsetMs: state.clock.offsetMs() ?? 0 })

  /**
   * Makes one attempt. Repeats the request if the server only needed its nonce, its time or a
   * newer token.
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
        streams: isStreamed(route),
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

  /** A rejected proof does not end the session, which may still be valid. */
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
   * @throws AppError: the server's own, or backend_* if there was none
   */
  return async (request: Outgoing): Promise<unknown> => {
    const { route, path, body } = request
    const { method } = route
    // A server accepts no escapes in a path, so no resource has an id that needs one.
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
        // The same operation is in progress: an attempt that was cut off still runs at the
        // server.
        if (error.code === 'in_progress' && key !== null)
          throw new Passing(
            timedOut(origin, 'is still processing this request. Try again later.'),
            true,
          )
        // The previous attempt deleted the resource, and its answer was lost.
        const isGone = error.code === 'not_found' && method === 'DELETE' && !('reply' in route)
        if (isGone && again) return undefined
        throw who.told(error)
      }
    }
    return persist(attempt, { repeatable, wait, outage })
  }
}
