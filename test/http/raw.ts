/** HTTP as bytes: what is sent is exactly what a case says, and every answer on the connection is seen. */
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

export interface RawAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The answers in what a connection carried; `bodiless` says that they answer HEAD. */
export function answersIn(text: string, bodiless = false): RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = text; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n')
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1])
    if (end === -1 || !status) throw new Error(`no answer: ${JSON.stringify(rest.slice(0, 200))}`)
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const length = bodiless || status < 200 ? 0 : Number(headers['content-length'] ?? 0)
    const start = end + 4
    answers.push({ status, headers, body: rest.slice(start, start + length) })
    rest = rest.slice(start + length)
  }
  return answers
}

const LONGEST_MS = 10_000

/**
 * Send bytes and hand back all that came until the server closed the connection. A connection left open is an error,
 * so requests that should leave it open say `Connection: close`. This end is never closed first.
 */
export function send(address: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const chunks: Buffer[] = []
    const late = setTimeout(() => {
      socket.destroy()
      reject(new Error(`still open after ${JSON.stringify(Buffer.concat(chunks).toString())}`))
    }, LONGEST_MS)
    const done = () => {
      clearTimeout(late)
      socket.destroy()
      resolve(Buffer.concat(chunks).toString('latin1'))
    }
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.once('end', done)
    // A reset after the answer is how a server drops what it does not want to read.
    socket.once('error', done)
    socket.write(bytes)
  })
}

/** Send bytes, close this end at once, and hand back all that came until the server closed the connection. */
export function sendAndClose(address: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(address)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  socket.end(bytes)
  return text(socket)
}

/** Send a request of these lines (CRLF is added) and hand back its answers. */
export const exchange = async (
  address: string,
  lines: readonly string[],
  body = '',
): Promise<RawAnswer[]> =>
  answersIn(
    await send(address, `${lines.join('\r\n')}\r\n\r\n${body}`),
    lines[0]?.startsWith('HEAD '),
  )

/** Host as the server at an address wants it. */
export const hostOf = (address: string): string => new URL(address).host
