/**
 * A scripted account server on loopback: it records the requests and gives the answers of the
 * test.
 */
import { once } from 'node:events'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  createServer,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { type Remote, type Where, openRemote } from '../../src/remote/remote.ts'

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Answers one request; `n` counts from 0. */
export type Answerer = (res: ServerResponse, seen: Seen, n: number) => unknown

export interface Scripted {
  readonly base: string
  /** Every request that arrived completely, in order. */
  readonly seen: readonly Seen[]
  /** Returns the number of accepted connections. */
  readonly connections: () => number
  /** Releases the port before the test ends. */
  readonly stop: () => Promise<unknown>
}

/** Starts a server that ends with the test. */
export async function scripted(
  t: TestContext,
  answer: Answerer,
  tls?: { key: string; cert: string },
): Promise<Scripted> {
  const seen: Seen[] = []
  let connections = 0
  const listener = async (req: IncomingMessage, res: ServerResponse) => {
    const { method = '', url = '', headers } = req
    const one = { method, url, headers, body: await text(req) }
    await answer(res, one, seen.push(one) - 1)
  }
  const server = tls === undefined ? createServer() : createTlsServer(tls)
  server.on('request', (req, res) => void listener(req, res))
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    return closed
  }
  t.after(() => (server.listening ? stop() : undefined))
  const { port } = server.address() as AddressInfo
  const base = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`
  return { base, seen, connections: () => connections, stop }
}

/** Creates the client of a server, without waits of its own; it is closed with the test. */
export function clientAt(
  t: TestContext,
  base: string,
  options: Partial<Where> = {},
): Remote & { readonly waits: readonly number[] } {
  const waits: number[] = []
  const remote = openRemote({
    base,
    ca: null,
    now: Date.now,
    wait: async (ms) => void waits.push(ms),
    ...options,
  })
  t.after(() => remote.close())
  return { ...remote, waits }
}

export const json = (
  res: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
) =>
  res
    .writeHead(status, { 'Content-Type': 'application/json', ...headers })
    .end(JSON.stringify(value))

export const CLOCK = { now: '2026-01-01T00:00:00.000Z', public_url: 'https://countersign.test' }

export const refusal = (error: string, message = 'No.', details: object = {}) => ({
  error,
  message,
  ...details,
})
