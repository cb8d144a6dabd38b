/** The webhooks of a state folder, with the time and the names in the hands of the test. */
import { execFileSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  createServer as createHttp,
} from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type Tokens, openTokens } from '../../src/auth/tokens.ts'
import { openVault } from '../../src/device/identity/vault.ts'
import { newLog } from '../../src/log.ts'
import { openState, type State } from '../../src/state/state.ts'
import { webhookRows } from '../../src/state/webhooks.ts'
import type { Network } from '../../src/webhooks/attempt.ts'
import type { Timers } from '../../src/runtime/timers.ts'
import { type Webhooks, newWebhooks } from '../../src/webhooks/webhooks.ts'
import { freePort } from '../free-port.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { memoryKeychain } from '../keychain/memory.ts'

/** What a receiver got. */
export interface Got {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: { id: string; type: string; timestamp: string; data: Record<string, string> }
}

export interface Receiver {
  readonly url: string
  readonly port: number
  /** All requests so far. */
  readonly got: readonly Got[]
  /** How many connections were opened. */
  readonly connections: () => number
  /** The ids of the tokens in the events so far, in order. */
  tokens(): string[]
  /** Waits until there were so many requests. */
  arrived(count: number): Promise<void>
  /** Sets how each further request is answered; 200 by default. */
  answer(by: Answerer): void
  close(): Promise<void>
}

type Answerer = (res: ServerResponse, req: IncomingMessage) => void

/** Answers with a status. */
export const withStatus =
  (status: number, headers: Record<string, string> = {}): Answerer =>
  (res) =>
    void res.writeHead(status, headers).end('ignored')

/** Starts a receiver on a loopback address. */
export async function newReceiver(
  t: TestContext,
  { port, tls }: { port?: number; tls?: { key: string; cert: string } } = {},
): Promise<Receiver> {
  const got: Got[] = []
  const arrivals = new EventEmitter()
  let answerer = withStatus(200)
  let connections = 0
  const listener: RequestListener = (req, res) => {
    let body = ''
    req.setEncoding('utf8').on('data', (text: string) => (body += text))
    req.once('end', () => {
      got.push({ headers: req.headers, body, event: JSON.parse(body) as Got['event'] })
      answerer(res, req)
      arrivals.emit('one')
    })
  }
  const server: Server = tls === undefined ? createHttp(listener) : createHttps(tls, listener)
  server.on('connection', () => (connections += 1))
  // A test may start a second receiver at the port of the first.
  server.listen(port ?? (await freePort()), '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  t.after(close)
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://127.0.0.1:${bound}/hook`,
    port: bound,
    got,
    connections: () => connections,
    tokens: () => got.map(({ event }) => event.data['token_id'] ?? event.type),
    async arrived(count) {
      while (got.length < count) await once(arrivals, 'one')
    },
    answer: (by) => void (answerer = by),
    close,
  }
}

/** Creates a key and a certificate for a name. */
export function certificateFor(t: TestContext, name: string): { key: string; cert: string } {
  const folder = freshFolder(t)
  const made = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.pem'
  const about = `-subj /CN=${name} -addext subjectAltName=DNS:${name} -days 2`
  execFileSync('openssl', `req -x509 ${made} ${about}`.split(' '), { stdio: 'pipe', cwd: folder })
  const pem = (file: string) => readFileSync(join(folder, file), 'utf8')
  return { key: pem('tls.key'), cert: pem('tls.pem') }
}

/** Checks a request as its receiver would. Throws unless the signature is right. */
export const checkSignature = ({ headers, body }: Got, secret: string): unknown =>
  new Webhook(secret).verify(body, headers as Record<string, string>)

/** Timers that run when the test moves the time. */
function newTestTimers() {
  const clock = { now: Date.now() }
  const due = new Set<{ readonly at: number; readonly action: () => void }>()
  const timers: Timers = {
    now: () => clock.now,
    after(ms, action) {
      const one = { at: clock.now + ms, action }
      due.add(one)
      return () => void due.delete(one)
    },
    random: () => 0,
  }
  /** Moves the time, and runs what is due meanwhile. */
  function advance(ms: number): void {
    const end = clock.now + ms
    for (;;) {
      const [next] = [...due].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)
      if (next === undefined) break
      due.delete(next)
      clock.now = Math.max(clock.now, next.at)
      next.action()
    }
    clock.now = end
  }
  return { timers, advance, clock }
}

export interface Bench {
  readonly state: State
  readonly tokens: Tokens
  readonly webhooks: Webhooks
  /** The names of the lines of the log. */
  readonly log: readonly string[]
  /** How often a report of a given-up webhook was planned. */
  readonly reportsDue: () => number
  /** Moves the time, and runs what is due meanwhile. */
  advance(ms: number): void
  /** Creates a token, which is an event. Returns its id. */
  readonly event: (name?: string) => string
  /** Waits until something is so. It is looked at after each change of the webhooks. */
  when(isSo: () => boolean): Promise<void>
  /** Ends this run of the daemon and starts another one. */
  restart(): Bench
}

/** The command line, to which all webhooks belong that no test creates with a token. */
export const OWNER = { token: null, scope: 'owner' } as const

/** Creates the webhooks of a new state folder. `now` is the time of the test's clock. */
export function newBench(t: TestContext, network: Partial<Network> = {}): Bench {
  const dir = freshFolder(t)
  const keychain = memoryKeychain()
  const { timers, advance, clock } = newTestTimers()
  const changes = new EventEmitter().setMaxListeners(0)

  function run(): Bench {
    const state = openState(dir)
    const vault = openVault(keychain, state.secrets)
    const stopping = new AbortController()
    const log: string[] = []
    let reportsDue = 0
    const tokens = openTokens({
      keychain,
      rows: state.tokens,
      now: () => clock.now,
      commandLineToken: () => '',
      account: () => null,
    })
    const webhooks = newWebhooks({
      rows: webhookRows(state.db),
      events: state.events,
      transaction(action) {
        const result = state.transaction(action)
        setImmediate(() => changes.emit('one'))
        return result
      },
      vault: () => vault,
      tokens,
      network: {
        resolve: () => Promise.reject(new Error('no such name')),
        ownPorts: () => [],
        ...network,
      },
      timers,
      log: newLog('debug', (line) => log.push((JSON.parse(line) as { event: string }).event)),
      onGivenUp: () => void (reportsDue += 1),
      stopping: stopping.signal,
    })
    webhooks.start()
    const close = () => {
      stopping.abort()
      if (state.db.isOpen) state.close()
    }
    t.after(close)
    return {
      state,
      tokens,
      webhooks,
      log,
      reportsDue: () => reportsDue,
      advance,
      event: (name = 'one') => tokens.mint({ name, scope: 'read' }).id,
      async when(isSo) {
        while (!isSo()) await once(changes, 'one')
      },
      restart() {
        close()
        return run()
      },
    }
  }
  return run()
}
