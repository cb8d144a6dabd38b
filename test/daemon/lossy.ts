/**
 * A proxy to an account server that loses responses: the server does the work and the client
 * receives nothing.
 */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface LossyLine {
  /** The address that clients use for the server. */
  readonly address: string
  /** The address of the real server, once it is known. */
  target: string
  /** The paths for which every response is lost. */
  readonly mute: Set<string>
}

export async function lossyLine(t: TestContext): Promise<LossyLine> {
  const server = createServer((req, res) => {
    const headers = { ...req.headers }
    const onward = request(new URL(req.url ?? '/', line.target), { method: req.method, headers })
    onward.once('response', (answer) => {
      if (line.mute.has(req.url ?? '')) {
        answer.resume().once('end', () => req.socket.destroy())
        return
      }
      res.writeHead(answer.statusCode ?? 500, answer.rawHeaders)
      answer.pipe(res)
    })
    onward.once('error', () => req.socket.destroy())
    req.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const line = { address: `http://127.0.0.1:${port}`, target: '', mute: new Set<string>() }
  return line
}
