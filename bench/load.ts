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
type OnAnswer = (text: string) => void

/** One open connection. */
interface Connection {
  send(next: NextRequest, count: number, onAnswer: OnAnswer): Promise<void>
  close(): void
}

function open(port: number): Connection {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true }).setEncoding('latin1')
  let text = ''
  return {
    async send(next, count, onAnswer) {
      if (count === 0) return
      let left = count
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const onData = (chunk: string) => {
        text += chunk
        const whole = answerLength(text)
        if (whole === 0) return
        if (!text.startsWith('HTTP/1.1 2')) reject(new Error(text.slice(0, 200)))
        onAnswer(text.slice(0, whole))
        text = text.slice(whole)
        if (--left > 0) socket.write(next())
        else resolve()
      }
      const onClose = () => reject(new Error('the connection was closed'))
      socket.on('data', onData).once('error', reject).once('close', onClose)
      socket.write(next())
      await promise
      socket.off('data', onData).off('error', reject).off('close', onClose)
    },
    close: () => void socket.end(),
  }
}

export interface Connections {
  /** Sends `count` requests. Rejects at the first response that is not 2xx. */
  send(next: NextRequest, count: number, onAnswer?: OnAnswer): Promise<void>
  close(): void
}

/** Opens connections to a program, which stay open between the requests. */
export function connections(port: number, most = CONNECTIONS): Connections {
  const all = Array.from({ length: most }, () => open(port))
  return {
    async send(next, count, onAnswer = () => undefined) {
      const each = Math.ceil(count / most)
      await Promise.all(all.map((one) => one.send(next, each, onAnswer)))
    },
    close: () => all.forEach((one) => one.close()),
  }
}

/**
 * Sends `count` requests on new connections. Rejects at the first response that is not 2xx.
 * @param how `onAnswer` is called with each response
 */
export async function load(
  port: number,
  next: NextRequest,
  count: number,
  how: { connections?: number; onAnswer?: OnAnswer } = {},
): Promise<void> {
  const opened = connections(port, how.connections)
  await opened.send(next, count, how.onAnswer)
  opened.close()
}
