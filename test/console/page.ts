/** A console's page as the daemon sees it: its key, its proofs, and the headers of a browser. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ConsoleCode, ConsoleSession } from '../../src/api/console/index.ts'
import type { Scope } from '../../src/auth/scopes.ts'
import { type KeyPair, signingKeyFrom } from '../../src/crypto/device-keys.ts'
import { signProof } from '../../src/crypto/jose/dpop.ts'
import type { Answer, Question, TestDaemon } from '../daemon.ts'

export const SESSION = '/console/v1/session'
export const CODES = '/console/v1/codes'

/** Returns a new key of a browser. */
export const newKey = (): KeyPair => signingKeyFrom(randomBytes(32))

/** The header of a browser that opens a page. */
export const VISITING = { 'Sec-Fetch-Dest': 'document' }

/** Returns a code for a console, as the command line gets it, after a browser opened its link. */
export async function newCode(daemon: TestDaemon, scope?: Scope): Promise<ConsoleCode> {
  const { status, json } = await daemon.request('POST', CODES, { body: { scope } })
  assert.equal(status, 201)
  const made = json as ConsoleCode
  await daemon.request('GET', `/console/open/${made.visit}`, { headers: VISITING })
  return made
}

/** Returns the headers that a browser adds to a request of a page at this address. */
export const ownHeaders = (address: string) => ({
  Origin: address,
  'Sec-Fetch-Site': 'same-origin',
  'Sec-Fetch-Mode': 'cors',
})

export interface Page {
  readonly key: KeyPair
  /** Signs a proof with the newest nonce. */
  proof(method: string, path: string, token?: string, over?: object): Promise<string>
  /** Sends a request with a proof. Repeats it once with the nonce of the answer if that is new. */
  send(method: string, path: string, question?: Question): Promise<Answer>
  /** Exchanges a code, and uses the token from then on. */
  open(scope?: Scope): Promise<ConsoleSession>
}

/** Opens a page at a daemon. */
export function newPage(daemon: TestDaemon, key: KeyPair = newKey()): Page {
  let nonce: string | undefined
  let own: string | undefined
  const proof: Page['proof'] = (method, path, token, over = {}) => {
    const bound = { ...(token && { accessToken: token }), ...(nonce && { nonce }) }
    const at = Math.floor(Date.now() / 1000)
    return signProof({ method, url: daemon.address + path, at, ...bound, ...over }, key)
  }
  async function once(method: string, path: string, question: Question): Promise<Answer> {
    const { token = own, headers, ...rest } = question
    const authorization = token === undefined ? {} : { Authorization: `DPoP ${token}` }
    const answer = await daemon.request(method, path, {
      ...rest,
      headers: {
        ...ownHeaders(daemon.address),
        ...authorization,
        DPoP: await proof(method, path, token),
        ...headers,
      },
    })
    nonce = answer.headers['dpop-nonce'] as string
    return answer
  }
  const send: Page['send'] = async (method, path, question = {}) => {
    const answer = await once(method, path, question)
    const wants = /use_dpop_nonce/.test(answer.headers['www-authenticate'] ?? '')
    return wants ? once(method, path, question) : answer
  }
  return {
    key,
    proof,
    send,
    async open(scope) {
      const { code } = await newCode(daemon, scope)
      own = undefined
      const { status, json } = await send('POST', SESSION, { body: { code } })
      assert.equal(status, 201, JSON.stringify(json))
      own = (json as ConsoleSession).token
      return json as ConsoleSession
    },
  }
}
