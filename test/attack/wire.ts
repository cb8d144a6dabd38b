/**
 * Sends shots to a listener: many on a connection if the attack leaves it open, with each answer
 * separated.
 */
import { type RawAnswer, answersIn, hostOf, send } from '../http/raw.ts'

export interface Shot {
  /** The bytes to send, one character a byte. */
  readonly bytes: string
  /** The expected answer: `403 host_not_allowed`, or a status alone if there is no error. */
  readonly want: RegExp
  /** Uses a connection of its own, which the server must close after one answer. */
  readonly alone?: true
  /** Returns the fault of an answer with the expected status; null for none. */
  readonly check?: (answer: RawAnswer) => string | null
}

/** An answer, or the reason why there is none. */
export type Received = RawAnswer | string

const NO_CONTENT = [204, 304]
const isHead = ({ bytes }: Pick<Shot, 'bytes'>) => bytes.startsWith('HEAD ')

/** Decodes a chunked body (RFC 9112 section 7.1) from `start`; returns it and its end. */
function unchunked(text: string, start: number): { body: string; end: number } {
  let body = ''
  for (let at = start; ;) {
    const line = text.indexOf('\r\n', at)
    const size = parseInt(text.slice(at, line), 16)
    if (line === -1 || Number.isNaN(size)) throw new Error('a chunk without a size')
    const from = line + 2
    body += text.slice(from, from + size)
    at = from + size + 2
    if (size === 0) return { body, end: at }
  }
}

/** Splits the first answer off a text. */
function firstIn(text: string, bodiless: boolean): { answer: RawAnswer; rest: string } {
  const start = text.indexOf('\r\n\r\n') + 4
  const [answer] = answersIn(text.slice(0, start), true) as [RawAnswer]
  const { status, headers } = answer
  if (bodiless || status < 200 || NO_CONTENT.includes(status))
    return { answer, rest: text.slice(start) }
  if (headers['transfer-encoding'] === 'chunked') {
    const { body, end } = unchunked(text, start)
    return { answer: { ...answer, body }, rest: text.slice(end) }
  }
  const end = start + Number(headers['content-length'] ?? 0)
  return { answer: { ...answer, body: text.slice(start, end) }, rest: text.slice(end) }
}

/** Returns the answers on a connection, for shots in this order. */
function allIn(text: string, shots: readonly Pick<Shot, 'bytes'>[]): Received[] {
  const received: Received[] = []
  for (let rest = text; rest !== '';)
    try {
      const found = firstIn(
        rest,
        shots[received.length] !== undefined && isHead(shots[received.length]!),
      )
      received.push(found.answer)
      rest = found.rest
    } catch (error) {
      received.push(`no answer: ${String(error)}`)
      break
    }
  return received
}

const talk = async (
  address: string,
  shots: readonly Pick<Shot, 'bytes'>[],
): Promise<Received[]> => {
  try {
    const bytes = Buffer.from(shots.map((shot) => shot.bytes).join(''), 'latin1')
    return allIn(await send(address, bytes), shots)
  } catch (error) {
    return [String(error)]
  }
}

/** Returns an honest request, after which the connection is closed. */
export const honest = (address: string) => ({
  bytes: `GET /health HTTP/1.1\r\nHost: ${hostOf(address)}\r\nConnection: close\r\n\r\n`,
})

/** Returns the fault in the answer to an honest request; null for none. */
export const dishonest = (received: Received | undefined): string | null =>
  typeof received === 'object' && received.status === 200 && /"status":"ok"/.test(received.body)
    ? null
    : `an honest request was answered ${JSON.stringify(received)}`

/** Sends one honest request. Returns the fault of the answer. */
export const isWell = async (address: string): Promise<string | null> =>
  dishonest((await talk(address, [honest(address)]))[0])

/**
 * Sends shots on one connection at once, with an honest request behind them: each has one answer,
 * in order.
 * @returns for each shot its answer, or the reason why there is none
 */
export async function volley(address: string, shots: readonly Shot[]): Promise<Received[]> {
  const received = await talk(address, [...shots, honest(address)])
  const fault =
    received.length > shots.length + 1
      ? 'more answers than requests'
      : dishonest(received[shots.length])
  return shots.map((_, i) => {
    const answer = received[i] ?? 'no answer'
    return fault !== null && i === shots.length - 1 && typeof answer === 'object' ? fault : answer
  })
}

/** Sends one shot on a connection of its own: one answer, and the server closes. */
export async function single(address: string, shot: Shot): Promise<Received> {
  const received = await talk(address, [shot])
  return received.length === 1
    ? received[0]!
    : `${received.length} answers: ${JSON.stringify(received).slice(0, 500)}`
}
