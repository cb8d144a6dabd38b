/** Starts a daemon in this process for tests, over its own state folder, on free ports. */
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandLineToken } from '../src/auth/proof.ts'
import type { Scope } from '../src/auth/scopes.ts'
import { readConfig } from '../src/config/config.ts'
import { serve } from '../src/daemon/daemon.ts'
import { newLog } from '../src/log.ts'
import { type Runtime, readRuntime, stateSecret } from '../src/storage/runtime-file.ts'
import './declared-errors.ts'
import { placeAt, unixUrl } from './unix-url.ts'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown
}

export interface Question {
  readonly token?: string | undefined
  /** Sent as JSON; a string or bytes are sent unchanged. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns the place of an address, as requests of node:http name it. */
function requestPlace(address: string) {
  const place = placeAt(address)
  return 'path' in place ? { socketPath: place.path } : place
}

/**
 * Sends a request to a server, with only the headers that Node needs and nothing rewritten.
 * @param address a URL, or that of a Unix socket (`unixUrl`)
 */
export function ask(
  address: string,
  method: string,
  path: string,
  { token, body, headers = {} }: Question = {},
): Promise<Answer> {
  const raw = typeof body === 'string' || body instanceof Uint8Array
  const bytes = body === undefined || raw ? body : JSON.stringify(body)
  const sent = {
    ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    ...(bytes === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(bytes) }),
    ...headers,
  }
  return new Promise((resolve, reject) => {
    const req = httpRequest({ ...requestPlace(address), method, path, headers: sent }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.once('error', reject)
      res.once('end', () => {
        const text = Buffer.concat(chunks).toString()
        const isJson = res.headers['content-type'] === 'application/json' && text !== ''
        resolve({
          status: res.statusCode as number,
          headers: res.headers,
          text,
          json: isJson ? JSON.parse(text) : undefined,
        })
      })
    })
    req.once('error', reject)
    req.end(bytes)
  })
}

export interface TestDaemon {
  /** Its URL, or the address of its Unix socket if it does not use TCP. */
  readonly address: string
  /** The address of its account server; empty if it uses another one. */
  readonly accountAddress: string
  readonly stateDir: string
  /** Every line of the log so far, from level debug. */
  readonly log: readonly string[]
  /** Waits until an event of this name is in the log. */
  logged(event: string): Promise<void>
  /** Sends a request to the API. */
  request(method: string, path: string, question?: Question): Promise<Answer>
  /** Creates a token of this scope. */
  token(scope: Scope): Promise<string>
  /** The token of the command line. */
  owner(): string
  close(): Promise<void>
}

/** Starts a daemon; `env` adds to or overrides the settings of the test. */
export async function startDaemon(env: Record<string, string> = {}): Promise<TestDaemon> {
  const stateDir = env['SVC_STATE_DIR'] ?? mkdtempSync(join(tmpdir(), 'countersign-test-'))
  const log: string[] = []
  const lineEvents = new EventEmitter()
  const config = readConfig({
    SVC_STATE_DIR: stateDir,
    SVC_KEYCHAIN: 'file',
    SVC_HTTP_PORT: '0',
    SVC_ACCOUNT_PORT: '0',
    ...env,
  })
  const daemon = await serve(
    config,
    newLog('debug', (line) => {
      log.push(line)
      lineEvents.emit('line')
    }),
  )
  const { socket, accountAddress } = daemon
  const address = daemon.address ?? unixUrl(socket as string)
  const request: TestDaemon['request'] = (method, path, question) =>
    ask(address, method, path, question)
  return {
    address,
    accountAddress: accountAddress ?? '',
    stateDir,
    log,
    async logged(event) {
      const isHere = () =>
        log.some((line) => (JSON.parse(line) as { event: string }).event === event)
      while (!isHere()) await once(lineEvents, 'line')
    },
    request,
    async token(scope) {
      const { json } = await request('POST', '/api/v1/token', { body: { name: 'test', scope } })
      return (json as { token: string }).token
    },
    owner: () => commandLineToken(stateSecret(stateDir), (readRuntime(stateDir) as Runtime).nonce),
    async close() {
      await daemon.close()
      if (env['SVC_STATE_DIR'] === undefined) rmSync(stateDir, { recursive: true, force: true })
    },
  }
}
