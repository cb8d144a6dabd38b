/**
 * HTTP as raw bytes.
 * The server gets exactly the bytes of a case, and the test gets every answer of the connection.
 */
import { text } from 'node:stream/consumers'
import { connectTo, pathIn } from '../unix-url.ts'

export interface RawAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * Parses the answers in the bytes of a connection.
 * @param bodiless whether they answer HEAD
 */
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

/** Below the 65 seconds after which a server closes an idle connection. */
const LONGEST_MS = 60_000

/**
 * Sends bytes and returns all that arrived until the server closed the connection.
 * A connection left open is an error, so requests that would leave it open contain `Connection:
 * close`. This end is never closed first.
 */
export function send(address: string, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTo(address, { allowHalfOpen: true })
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
    // A server resets a connection after the answer to drop input that it does not read.
    socket.once('error', done)
    socket.write(bytes)
  })
}

/**
 * Sends bytes and closes this end at once.
 * @returns all that arrived until the server closed the connection
 */
export function sendAndClose(address: string, bytes: string): Promise<string> {
  const socket = connectTo(address, { allowHalfOpen: true })
  socket.end(bytes)
  return text(socket)
}

/** Sends a request of these lines (CRLF is added) and returns its answers. */
export const exchange = async (
  address: string,
  lines: readonly string[],
  body = '',
): Promise<RawAnswer[]> =>
  answersIn(
    await send(address, `${lines.join('\r\n')}\r\n\r\n${body}`),
    lines[0]?.startsWith('HEAD '),
  )

/** Returns the Host that the server at an address requires. A Unix socket accepts any. */
export const hostOf = (address: string): string =>
  pathIn(address) === null ? new URL(address).host : 'localhost'
