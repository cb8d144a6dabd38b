/**
 * Fixtures of a daemon under attack: its data, devices at its account server, and their proofs.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { commandLineToken } from '../../src/auth/proof.ts'
import type { KeyPair } from '../../src/crypto/device-keys.ts'
import { type Runtime, readRuntime, stateSecret } from '../../src/storage/runtime-file.ts'
import { proven } from '../account-server.ts'
import { type TestDaemon, ask } from '../daemon.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'
import { enrolmentOf, furtherOf, newMaker, newcomerOf } from '../service/person.ts'

/** Part of every text that the account stores. */
export const HTML = '<img src=x onerror=alert(1)>'

/** The addresses and the state folder of a daemon, wherever it runs. */
export type Place = Pick<TestDaemon, 'address' | 'accountAddress' | 'stateDir'>

/** Wraps a daemon of any process in the interface of a daemon in this one. */
export function daemonAt({ address, accountAddress, stateDir }: Place): TestDaemon {
  const request: TestDaemon['request'] = (method, path, question) =>
    ask(address, method, path, question)
  return {
    address,
    accountAddress,
    stateDir,
    log: [],
    logged: () => Promise.reject(new Error('The log of another process is not read here.')),
    request,
    async token(scope) {
      const { json } = await request('POST', '/api/v1/token', { body: { name: 'test', scope } })
      return (json as { token: string }).token
    },
    owner: () => commandLineToken(stateSecret(stateDir), (readRuntime(stateDir) as Runtime).nonce),
    close: async () => undefined,
  }
}

/** The resources to create: path and body of each. */
export const POSTS: readonly [path: string, body: object][] = [
  ['/api/v1/connections', { name: HTML }],
  ['/api/v1/guest-codes', { label: HTML }],
  ['/api/v1/external-members', { display_name: HTML }],
  ['/api/v1/tags', { name: HTML }],
  ['/api/v1/presets', { name: HTML, invite_message: HTML }],
  ['/api/v1/open-links', { title: HTML }],
  ['/api/v1/emails', { address: 'olga@example.org' }],
  ['/api/v1/stamp', { content: HTML, context: HTML }],
  ['/api/v1/org/groups', { name: HTML }],
]

/** Enrols a device at the account server, and a further one that awaits approval. */
export async function devices({ accountAddress: address, stateDir }: Place) {
  const email = 'ada@example.org'
  const code = async (nth: number) => {
    await ask(address, 'POST', '/device/v1/sign-ins', { body: { email } })
    const letters = (await lettersIn(join(stateDir, 'mail'), email)).filter(hasCode)
    return codeIn(letters[nth]!)
  }
  const enrol = async (path: string, body: object): Promise<string> => {
    const { status, json, text } = await ask(address, 'POST', path, { body })
    assert.equal(status, 201, text)
    return (json as { session: { access_token: string } }).session.access_token
  }
  const maker = newMaker()
  const newcomer = newcomerOf()
  const token = await enrol('/device/v1/enrolments', enrolmentOf(maker, await code(0)).body)
  const further = furtherOf(newcomer, await code(1)).body
  return {
    approved: { key: maker.keys.auth, token },
    waiting: {
      key: newcomer.keys.auth,
      token: await enrol('/device/v1/enrolments/further', further),
    },
  }
}

/** The nonce in proofs changes within minutes; it is valid for at least half a minute. */
const NONCE_MS = 30_000

/** Creates proofs of devices for the account server. */
export function prover(address: string) {
  let nonce = ''
  let until = 0
  const fresh = async (credentials: { key: KeyPair; token: string }) => {
    if (Date.now() > until) {
      const headers = await proven({ address }, 'GET', '/api/v1/context', credentials)
      const answer = await ask(address, 'GET', '/api/v1/context', { headers })
      nonce = String(answer.headers['dpop-nonce'])
      until = Date.now() + NONCE_MS
    }
    return nonce
  }
  return async (credentials: { key: KeyPair; token: string }, method: string, path: string) => {
    const of = { nonce: await fresh(credentials) }
    const headers = await proven({ address }, method, path.split('?')[0] as string, credentials, of)
    return Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  }
}
