/**
 * A plain client: keep-alive connections that each send the next request after the complete
 * response.
 */
import { connect } from 'node:net'

/** Returns the length of the response at the start of `text`, or 0 if it is not complete yet. */
function answerLength(text: string): number {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return 0
  const length = /content-length: (\d+)/i.exec(text.slice(0, end))?.[1]
  if (length === undefined) throw new Error('an answer without Content-Length')
  const whole = end + 4 + Number(length)
  return text.length >= whole ? whole : 0
}

function one(port: number, request: string, count: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = count
    let text = ''
    const socket = connect({ host: '127.0.0.1', port, noDelay: true }, () => socket.write(request))
    socket.setEncoding('latin1')
    socket.once('error', reject)
    socket.on('data', (chunk: string) => {
      text += chunk
      const whole = answerLength(text)
      if (whole === 0) return
      if (!text.startsWith('HTTP/1.1 200')) reject(new Error(text.slice(0, 200)))
      text = text.slice(whole)
      if (--left > 0) socket.write(request)
      else {
        socket.end()
        resolve()
      }
    })
  })
}

/**
 * Sends `count` requests over `connections` connections. Rejects at the first response that is
 * not 200.
 */
export async function load(
  port: number,
  request: string,
  count: number,
  connections = 8,
): Promise<void> {
  const each = Math.ceil(count / connections)
  await Promise.all(Array.from({ length: connections }, () => one(port, request, each)))
}
