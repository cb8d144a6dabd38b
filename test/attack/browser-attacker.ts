/**
 * A server of hostile pages: it listens on its own ports, or where a daemon will listen, and
 * stops on request.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'

const SCRIPT = readFileSync(join(import.meta.dirname, 'browser-page.js'))

const PAGE = `<!doctype html><title>attacker</title><script src="/attack.js"></script>`

/** A page in a frame without an origin; the test adds its script. */
const FRAMES = `<!doctype html><title>attacker</title>
<iframe sandbox="allow-scripts allow-forms allow-popups" srcdoc="<title>sandboxed</title>"></iframe>
<iframe src="data:text/html,<title>data</title>"></iframe>`

/**
 * Stays after its server has stopped: answers under /planted itself, and sends any request for
 * the page.
 */
const WORKER = `
self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(clients.claim()))
self.addEventListener('fetch', (event) => {
  if (new URL(event.request.url).pathname !== '/planted') return
  event.respondWith(new Response('<title>planted</title>', { headers: { 'Content-Type': 'text/html' } }))
})
self.addEventListener('message', async ({ data: { url, init }, ports: [port] }) => {
  try {
    const answer = await fetch(url, init)
    port.postMessage(answer.status + '\\n' + (await answer.text()))
  } catch (error) {
    port.postMessage('')
  }
})`

const FILES: Readonly<Record<string, readonly [type: string, body: string | Buffer]>> = {
  '/': ['text/html', PAGE],
  '/frames': ['text/html', FRAMES],
  '/attack.js': ['text/javascript', SCRIPT],
  '/worker.js': ['text/javascript', WORKER],
}

export interface Attacker {
  readonly port: number
  /** Every request in order: method, Host and target. */
  readonly requests: readonly string[]
  /** Releases the port and closes every connection. */
  leave(): Promise<void>
}

/** Starts to serve hostile pages. */
export async function startAttacker(host: string, port = 0): Promise<Attacker> {
  const requests: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((req, res) => {
    requests.push(`${req.method} ${req.headers.host} ${req.url}`)
    const [type, body] = FILES[req.url ?? ''] ?? ['text/plain', '']
    res.writeHead(200, { 'Content-Type': type }).end(body)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    async leave() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
