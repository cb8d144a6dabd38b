/** From a call of a row to its value: credentials, one question after another until there is an answer, and what it means. */
import { hash, randomBytes } from 'node:crypto'
import { EVENT_STREAM } from '../api/event-stream.ts'
import type { Route } from '../api/route.ts'
import type { Outgoing } from '../api/client.ts'
import { AppError } from '../errors.ts'
import type { Act } from '../storage/idempotency.ts'
import { refusalOf, valueOf } from './answer.ts'
import type { Credentials, ProofState } from './credentials.ts'
import { Passing, backendError, timedOut } from './faults.ts'
import { type Outage, persist } from './retry.ts'
import type { Answer, Transport } from './transport.ts'

export interface Ground {
  readonly transport: Transport
  readonly state: ProofState
  /** Ends after so many milliseconds, or early when everything is closed. */
  readonly wait: (ms: number) => Promise<unknown>
  readonly outage: Outage
}

/** RFC 9449 section 8.1: NQCHAR. */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/** How far the server's clock may turn out to be elsewhere before a refused proof is worth making anew: half its leeway. */
const MOVED_MS = 30_000

/** RFC 9449 sections 8 and 9: it is the proof that is refused, not the token. */
const refusesProof = ({ status, headers }: Answer) =>
  status === 401 &&
  /\berror="(?:use_dpop_nonce|invalid_dpop_proof)"/.test(headers['www-authenticate'] ?? '')

function newKey(act: Pick<Act, 'id'> | null, method: string, path: string): string {
  if (act === null) return randomBytes(16).toString('base64url')
  return hash('sha256', Buffer.concat([act.id, Buffer.from(method + path)]), 'base64url')
}

/** The body as its row wants it: JSON, or a form (RFC 6749 appendix B). */
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

/** Whether an answer may come bit by bit, over a longer time than others. */
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
 * What carries the calls of a table to the server.
 * @param act makes the `Idempotency-Key` of every request; null for a new one each call
 */
export function newSend(
  { transport, state, wait, outage }: Ground,
  who: Credentials,
  act: Pick<Act, 'id'> | null,
) {
  const { origin } = transport

  function learn({ headers, sentAt, answeredAt }: Answer): void {
    state.clock.observe(headers.date, sentAt, answeredAt)
    const nonce = headers['dpop-nonce']
    if (typeof nonce === 'string' && NONCE.test(nonce)) state.nonce = nonce
  }

  /** What a proof is made of beside its key. */
  const known = () => ({ nonce: state.nonce, offsetMs: state.clock.offsetMs() ?? 0 })

  /** One attempt: a question, and again where the server only wanted its nonce, its time or a newer token. */
  async function answered(
    { route, path, query }: Outgoing,
    headers: Record<string, string>,
    body: string | undefined,
  ): Promise<Answer> {
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

  /** Nobody is signed out by this: the session may be as good as ever. */
  const proofRefused = (answer: Answer) => {
    const refusal = refusalOf(answer)
    return backendError(
      origin,
      `does not take the proof of this device's key${refusal === null ? '.' : `: ${refusal.message}`} Check that SVC_BACKEND_URL is exactly the server's SVC_PUBLIC_URL, and the clocks of both.`,
      refusal,
    )
  }

  /** Send a request. Throws AppError: the server's own, or backend_* when there was none. */
  return async (request: Outgoing): Promise<unknown> => {
    const { route, path, body } = request
    const { method } = route
    // A server takes no escapes in a path, so an id that would need one is nobody's.
    if (path.includes('%')) throw new AppError('not_found', 'There is nothing with such an id.')
    const isPost = method === 'POST'
    const repeatable = !isPost || route.repeats !== true
    const key = isPost && repeatable ? newKey(act, method, path) : null
    const content = contentOf(route, body)
    const headers = headersOf(route, content)
    if (key !== null) headers['Idempotency-Key'] = key

    const attempt = async (again: boolean) => {
      try {
        return valueOf(await answered(request, headers, content?.text), route, origin)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        // Of the same act: an attempt that was cut off still runs there.
        if (error.code === 'in_progress' && key !== null)
          throw new Passing(timedOut(origin, 'is still busy with this request.'), true)
        // It was the attempt before, whose answer was lost, that deleted it.
        const isGone = error.code === 'not_found' && method === 'DELETE' && !('reply' in route)
        if (isGone && again) return undefined
        throw who.told(error)
      }
    }
    return persist(attempt, { repeatable, wait, outage })
  }
}
