/**
 * The peer of the comparison: node:http alone, in a process of its own. A message sets its answer
 * to each kind of request, with the fields of another server’s answer, so that both send the same
 * amount.
 */
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Given } from './load-crowd.ts'

/** The same as that of the daemon: idle connections exist for both. */
const KEEP_ALIVE_MS = 65_000

process.once('message', (byName: Record<string, Given>) => {
  const all = new Map(Object.entries(byName))
  /** The answer to a kind that the other server did not get. */
  const unknown = (kind: string): Given => ({
    status: 200,
    headers: {
      'content-type': 'application/json',
      // The next request would be read as the body that a hostile client announced.
      ...(kind.startsWith('hostile') ? { connection: 'close' } : {}),
    },
    body: '{}',
  })

  function answer(res: ServerResponse, kind: string, isBodiless: boolean): void {
    const { status, headers, body } = all.get(kind) ?? unknown(kind)
    const length = status === 204 || isBodiless ? {} : { 'Content-Length': Buffer.byteLength(body) }
    res.writeHead(status, { ...headers, ...length })
    res.end(body)
  }

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    const kind = String(req.headers['x-kind'])
    const isHead = req.method === 'HEAD'
    // A hostile client may never send the announced body.
    if (kind.startsWith('hostile')) answer(res, kind, isHead)
    else req.resume().once('end', () => answer(res, kind, isHead))
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
})
process.once('disconnect', () => process.exit())
