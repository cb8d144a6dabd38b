/** Shots at a listener: many on a connection where the attack leaves it open, and every answer told apart. */
import { type RawAnswer, answersIn, send } from '../http/raw.ts'

export interface Shot {
  /** What is sent, one character a byte. */
  readonly bytes: string
  /** What must be said: `403 host_not_allowed`, a status alone where there is no error. */
  readonly want: RegExp
  /** A connection of its own, which the server has to close after one answer. */
  readonly alone?: true
  /** What is wrong with an answer that says the right thing. */
  readonly check?: (answer: RawAnswer) => string | null
}

/** An answer, or why there is none. */
export type Heard = RawAnswer | string

const NO_CONTENT = [204, 304]
const isHead = ({ bytes }: Pick<Shot, 'bytes'>) => bytes.startsWith('HEAD ')

/** The end of a body in chunks (RFC 9112 section 7.1) that begins at `start`. */
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

/** The first answer of a text, and the rest. */
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

/** What a connection carried, answer by answer, to shots in this order. */
function allIn(text: string, shots: readonly Pick<Shot, 'bytes'>[]): Heard[] {
  const heard: Heard[] = []
  for (let rest = text; rest !== '';)
    try {
      const found = firstIn(rest, shots[heard.length] !== undefined && isHead(shots[heard.length]!))
      heard.push(found.answer)
      rest = found.rest
    } catch (error) {
      heard.push(`no answer: ${String(error)}`)
      break
    }
  return heard
}

const talk = async (address: string, shots: readonly Pick<Shot, 'bytes'>[]): Promise<Heard[]> => {
  try {
    const bytes = Buffer.from(shots.map((shot) => shot.bytes).join(''), 'latin1')
    return allIn(await send(address, bytes), shots)
  } catch (error) {
    return [String(error)]
  }
}

/** An honest question, after which the connection is closed. */
export const honest = (address: string) => ({
  bytes: `GET /health HTTP/1.1\r\nHost: ${new URL(address).host}\r\nConnection: close\r\n\r\n`,
})

/** What is wrong with the answer to an honest question; null for nothing. */
export const dishonest = (heard: Heard | undefined): string | null =>
  typeof heard === 'object' && heard.status === 200 && /"status":"ok"/.test(heard.body)
    ? null
    : `an honest request was answered ${JSON.stringify(heard)}`

/** Ask one honest question. Out: what was wrong with the answer. */
export const isWell = async (address: string): Promise<string | null> =>
  dishonest((await talk(address, [honest(address)]))[0])

/**
 * Send shots on one connection, all at once, and an honest question behind them: each has one answer, in its turn.
 * @returns for each shot its answer, or what came in its place
 */
export async function volley(address: string, shots: readonly Shot[]): Promise<Heard[]> {
  const heard = await talk(address, [...shots, honest(address)])
  const fault =
    heard.length > shots.length + 1 ? 'more answers than requests' : dishonest(heard[shots.length])
  return shots.map((_, i) => {
    const answer = heard[i] ?? 'no answer'
    return fault !== null && i === shots.length - 1 && typeof answer === 'object' ? fault : answer
  })
}

/** Send one shot on a connection of its own: one answer, and the server closes. */
export async function single(address: string, shot: Shot): Promise<Heard> {
  const heard = await talk(address, [shot])
  return heard.length === 1
    ? heard[0]!
    : `${heard.length} answers: ${JSON.stringify(heard).slice(0, 500)}`
}
