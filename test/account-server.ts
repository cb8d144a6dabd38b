/**
 * Starts an account server with its listener in this process, and devices that call it over HTTP.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { serveAccount } from '../src/daemon/account-server.ts'
import { readConfig } from '../src/config/config.ts'
import type { KeyPair } from '../src/crypto/device-keys.ts'
import { signProof } from '../src/crypto/jose/dpop.ts'
import { newLog } from '../src/log.ts'
import { type Answer, type Question, ask } from './daemon.ts'
import { codeIn, lettersIn } from './service/letters.ts'
import { type Maker, enrolmentOf, newMaker } from './service/person.ts'
import './declared-errors.ts'

export interface TestServer {
  readonly address: string
  readonly stateDir: string
  readonly log: readonly string[]
  request(method: string, path: string, question?: Question): Promise<Answer>
  close(): Promise<void>
}

/** Starts an account server; `env` adds to or overrides the settings of the test. */
export async function startAccountServer(
  t: Pick<TestContext, 'after'>,
  env: Record<string, string> = {},
): Promise<TestServer> {
  const stateDir = env['SVC_STATE_DIR'] ?? mkdtempSync(join(tmpdir(), 'countersign-test-'))
  const log: string[] = []
  t.after(() => rmSync(stateDir, { recursive: true, force: true }))
  const server = await serveAccount(
    readConfig({ SVC_STATE_DIR: stateDir, SVC_ACCOUNT_PORT: '0', ...env }),
    newLog('debug', (line) => log.push(line)),
  )
  t.after(() => server.close())
  const { address } = server
  return {
    address,
    stateDir,
    log,
    request: (method, path, question) => ask(address, method, path, question),
    close: () => server.close(),
  }
}

/** The credentials that a device proves possession of. */
export interface Credentials {
  readonly key: KeyPair
  readonly token?: string | undefined
}

/**
 * Returns the headers of a device’s request. `of` replaces parts with values of another request.
 */
export async function proven(
  server: { readonly address: string },
  method: string,
  path: string,
  { key, token }: Credentials,
  of: { nonce?: string; scheme?: string; url?: string } = {},
): Promise<Record<string, string>> {
  const { nonce, scheme = 'DPoP', url = server.address + path } = of
  const proof = await signProof(
    {
      method,
      url,
      at: Math.floor(Date.now() / 1000),
      ...(token === undefined ? {} : { accessToken: token }),
      ...(nonce === undefined ? {} : { nonce }),
    },
    key,
  )
  return { DPoP: proof, ...(token === undefined ? {} : { Authorization: `${scheme} ${token}` }) }
}

/**
 * Sends a request as a device does: with a proof, and again with the nonce if the server requires
 * one.
 */
export async function askProven(
  server: TestServer,
  method: string,
  path: string,
  credentials: Credentials,
  { body, headers = {} }: Question = {},
): Promise<Answer> {
  const attempt = async (nonce?: string) => {
    const own = await proven(
      server,
      method,
      path,
      credentials,
      nonce === undefined ? {} : { nonce },
    )
    return server.request(method, path, { body, headers: { ...headers, ...own } })
  }
  const first = await attempt()
  const wanted = String(first.headers['www-authenticate']).includes('use_dpop_nonce')
  return wanted ? attempt(first.headers['dpop-nonce'] as string) : first
}

export interface Device extends Maker {
  readonly credentials: Credentials & { readonly token: string }
  readonly refreshToken: string
}

/** Signs a person with one device in, by a code from a mail. */
export async function signIn(server: TestServer, email: string): Promise<Device> {
  await server.request('POST', '/device/v1/sign-ins', { body: { email } })
  const [letter] = await lettersIn(join(server.stateDir, 'mail'), email)
  const maker = newMaker()
  const { json } = await server.request(
    'POST',
    '/device/v1/enrolments',
    enrolmentOf(maker, codeIn(letter!)),
  )
  const { session } = json as { session: { access_token: string; refresh_token: string } }
  return {
    ...maker,
    credentials: { key: maker.keys.auth, token: session.access_token },
    refreshToken: session.refresh_token,
  }
}
