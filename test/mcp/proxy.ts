/**
 * A proxy that adds a token, for clients that send none. It forwards everything else unchanged,
 * except that it replaces its own host name by the server’s.
 */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'

export interface Proxy {
  /** `http://127.0.0.1:port` */
  readonly address: string
  close(): Promise<void>
}

/** Starts a proxy before the server at an address. */
export async function startProxy(to: string, token: string): Promise<Proxy> {
  const { hostname, port, host } = new URL(to)
  const server = createServer((req, res) => {
    const own = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const headers = Object.fromEntries(
      Object.entries(req.headers).map(([name, value]) => [
        name,
        typeof value === 'string'
          ? value.replaceAll(own, host).replaceAll(own.replace('127.0.0.1', 'localhost'), host)
          : value,
      ]),
    )
    const passed = request(
      {
        hostname,
        port,
        method: req.method,
        path: req.url,
        headers: { ...headers, authorization: `Bearer ${token}` },
      },
      (answer) => {
        res.writeHead(answer.statusCode as number, answer.headers)
        pipeline(answer, res, () => undefined)
      },
    )
    passed.on('error', () => res.destroy())
    req.pipe(passed)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
