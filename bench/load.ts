/**
 * A plain client: keep-alive connections that each send the next request after the complete
 * response.
 */
import { connect } from 'node:net'

const CONNECTIONS = 8

/** Returns the length of the response at the start of `text`, or 0 if it is not complete yet. */
function answerLength(text: string): number {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return 0
  if (text.startsWith('HTTP/1.1 204')) return end + 4
  const length = /content-length: (\d+)/i.exec(text.slice(0, end))?.[1]
  if (length === undefined) throw new Error('an answer without Content-Length')
  const whole = end + 4 + Number(length)
  return text.length >= whole ? whole : 0
}

/** Returns the next request: its text as bytes of HTTP/1.1. */
type NextRequest = () => string

interface Load {
  readonly port: number
  readonly next: NextRequest
  readonly onAnswer: (text: string) => void
}

function one({ port, next, onAnswer }: Load, count: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = count
    let text = ''
    const socket = connect({ host: '127.0.0.1', port, noDelay: true }, () => socket.write(next()))
    socket.setEncoding('latin1')
    socket.once('error', reject)
    socket.on('data', (chunk: string) => {
      text += chunk
      const whole = answerLength(text)
      if (whole === 0) return
      if (!text.startsWith('HTTP/1.1 2')) reject(new Error(text.slice(0, 200)))
      onAnswer(text.slice(0, whole))
      text = text.slice(whole)
      if (--left > 0) socket.write(next())
      else {
        socket.end()
        resolve()
      }
    })
  })
}

/**
 * Sends `count` requests. Rejects at the first response that is not 2xx.
 * @param how `onAnswer` is called with each response
 */
export async function load(
  port: number,
  next: NextRequest,
  count: number,
  how: { connections?: number; onAnswer?: (text: string) => void } = {},
): Promise<void> {
  const { connections = CONNECTIONS, onAnswer = () => undefined } = how
  const each = Math.ceil(count / connections)
  const work = { port, next, onAnswer }
  await Promise.all(Array.from({ length: connections }, () => one(work, each)))
}
