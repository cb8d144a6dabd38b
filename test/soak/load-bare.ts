/**
 * The peer: node:http and nothing else, in a process of its own. It is told what to answer to each kind of request, and gives that;
 * the fields are those that another server gave, so that both send as much.
 */
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Given } from './load-crowd.ts'

/** As long as the other: idle connections are there for both. */
const KEEP_ALIVE_MS = 65_000

process.once('message', (told: Record<string, Given>) => {
  const all = new Map(Object.entries(told))
  const nothing: Given = {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{}',
  }

  function answer(res: ServerResponse, kind: string, isBodiless: boolean): void {
    const { status, headers, body } = all.get(kind) ?? nothing
    const length = status === 204 || isBodiless ? {} : { 'Content-Length': Buffer.byteLength(body) }
    res.writeHead(status, { ...headers, ...length })
    res.end(body)
  }

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    const kind = String(req.headers['x-kind'])
    const isHead = req.method === 'HEAD'
    // Who means harm may never send the body that was announced.
    if (kind.startsWith('hostile')) answer(res, kind, isHead)
    else req.resume().once('end', () => answer(res, kind, isHead))
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
})
process.once('disconnect', () => process.exit())
