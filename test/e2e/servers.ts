/**
 * Account servers as an operator runs them: replicas in processes of their own, and one address
 * for all.
 */
import { once } from 'node:events'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  createServer as createHttpServer,
  request,
} from 'node:http'
import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import { Transform } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { terminal } from '../cli/terminal.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'
import { type Child, start } from './program.ts'

export interface Balancer {
  /** The address for all clients. */
  readonly url: string
  /** Returns the number of connections that a port has accepted. */
  readonly taken: (port: number) => number
  /**
   * Holds back a port’s answer to the next successful request with this beginning; resolves when
   * it was held back.
   */
  readonly keepBack: (port: number, request: string) => Promise<void>
}

/**
 * A balancer before the replicas: it passes each connection to the next port with a listener, and
 * closes it when that replica is gone.
 */
export async function startBalancer(t: TestContext, ports: readonly number[]): Promise<Balancer> {
  const taken = new Map<number, number>()
  const open = new Set<Socket>()
  let turn = 0
  let keeping: { port: number; request: string; resolve: () => void } | null = null

  /**
   * Returns the stream to a client: all bytes of a replica, until one of its answers is held
   * back.
   */
  function answers(port: number, client: Socket): Transform {
    let asked = ''
    let isKept = false
    client.on('data', (chunk: Buffer) => {
      if (/^[A-Z]+ \//.test(chunk.toString('latin1', 0, 16)))
        asked = chunk.toString('latin1', 0, 256)
    })
    return new Transform({
      transform(chunk: Buffer, _, done) {
        const isGood = chunk.toString('latin1', 0, 10) === 'HTTP/1.1 2'
        if (isGood && keeping?.port === port && asked.startsWith(keeping.request)) {
          isKept = true
          keeping.resolve()
          keeping = null
        }
        done(null, isKept ? undefined : chunk)
      },
    })
  }

  function pass(client: Socket, attempts: number): void {
    const port = ports[turn++ % ports.length] as number
    const replica = connect(port, '127.0.0.1')
    const next = () => (attempts > 1 ? pass(client, attempts - 1) : client.destroy())
    replica.once('error', next)
    replica.once('connect', () => {
      // Bytes that one replica received are never sent to another: the client must learn that
      // they may be lost.
      replica.off('error', next).on('error', () => client.destroy())
      taken.set(port, (taken.get(port) ?? 0) + 1)
      client.once('close', () => replica.destroy())
      client.pipe(replica).pipe(answers(port, client)).pipe(client)
    })
  }

  const server = createServer({ pauseOnConnect: true, noDelay: true }, (client) => {
    open.add(client)
    client.once('close', () => open.delete(client))
    client.on('error', () => undefined)
    pass(client, ports.length)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const client of open) client.destroy()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken: (port) => taken.get(port) ?? 0,
    keepBack: (port, request) =>
      new Promise((resolve) => {
        keeping = { port, request, resolve }
      }),
  }
}

/** A request as an attacker on the network sees it. */
export interface RecordedRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  body: string
  /** The status of the answer; 0 before it. */
  status: number
  answered: IncomingHttpHeaders
}

export interface Wire {
  /** The address for all clients. */
  readonly url: string
  /** The port of the replica that receives the requests. */
  to: number
  /** The requests in their order. */
  readonly requests: readonly Readonly<RecordedRequest>[]
}

/** Starts an attacker’s proxy before the replicas: it records each request and forwards it. */
export async function startWire(t: Pick<TestContext, 'after'>): Promise<Wire> {
  const requests: RecordedRequest[] = []

  async function pass(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method = '', url: target = '', headers } = req
    const one: RecordedRequest = { method, target, headers, body: '', status: 0, answered: {} }
    requests.push(one)
    const onward = request({ host: '127.0.0.1', port: wire.to, method, path: target, headers })
    const bytes = await buffer(req)
    one.body = bytes.toString()
    onward.end(bytes)
    const [answer] = (await once(onward, 'response')) as [IncomingMessage]
    const { statusCode: status = 0, headers: answered } = answer
    Object.assign(one, { status, answered })
    res.writeHead(status, answered).end(await buffer(answer))
  }

  const server = createHttpServer((req, res) => {
    pass(req, res).catch(() => res.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const wire: Wire = { url, to: 0, requests }
  return wire
}

/** The settings that all replicas of one account server share. */
export interface Shared {
  readonly databaseUrl: string
  readonly publicUrl: string
  readonly mailDir: string
}

/** Starts `countersignd server` with folders of its own, and waits until it listens. */
export function startReplica(t: TestContext, port: number, shared: Shared): Promise<Child> {
  return start(
    ['server', '--json'],
    freshFolder(t),
    {
      SVC_ACCOUNT_PORT: String(port),
      SVC_PUBLIC_URL: shared.publicUrl,
      SVC_DATABASE_URL: shared.databaseUrl,
      SVC_MAIL_DIR: shared.mailDir,
    },
    '}\n',
  )
}

/** Signs the device of a state folder in, with the code in the mailbox. Throws on failure. */
export async function login(
  stateDir: string,
  { server, mailDir, email }: { server: string; mailDir: string; email: string },
): Promise<void> {
  const { code, err } = await terminal(stateDir)(['login', '--email', email], {
    env: { SVC_BACKEND_URL: server },
    // Other mails arrive at any time. The account gets no name.
    person: async (seen) =>
      seen.includes('Your name')
        ? ''
        : codeIn((await lettersIn(mailDir, email)).filter(hasCode).at(-1)!),
  })
  if (code !== 0) throw new Error(`login ended with ${code}: ${err}`)
}
