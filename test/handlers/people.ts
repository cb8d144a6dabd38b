/** Users and machine accounts at an account server, created through daemons. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { SignIn } from '../../src/api/local/index.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { signAssertion } from '../../src/crypto/jose/client-assertion.ts'
import type { KeyPair } from '../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { ask, type Question, type TestDaemon } from '../daemon.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'

/**
 * Sends a request to a daemon as its command line does; returns the body of a successful answer.
 */
export async function asOwner<T>(
  daemon: TestDaemon,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const { status, json, text } = await daemon.request(method, path, { token: daemon.owner(), body })
  assert(status < 300, `${method} ${path}: ${status} ${text}`)
  return json as T
}

/**
 * Approves a waiting device by a signed-in one; the words of each are typed into the other.
 * @returns the id of the new device
 */
export async function approveDevice(old: TestDaemon, fresh: TestDaemon): Promise<string> {
  const signIn = '/local/v1/sign-in/approval'
  const { device_id: id } = await asOwner<SignIn>(fresh, 'POST', `${signIn}/attempt`)
  const path = `/api/v1/devices/${id}/approval`
  const begun = await asOwner<{ state: string }>(old, 'POST', `${path}/attempt`)
  assert.equal(begun.state, 'revealing')
  const { device_words } = await asOwner<SignIn>(fresh, 'POST', `${signIn}/step`)
  const ready = await asOwner<{ state: string }>(old, 'POST', `${path}/step`)
  assert.equal(ready.state, 'ready')
  const body = { words: device_words }
  const { words } = await asOwner<{ words: string }>(old, 'POST', path, body)
  const { state } = await asOwner<SignIn>(fresh, 'POST', signIn, { words })
  assert.equal(state, 'signed_in')
  return id ?? ''
}

/**
 * Signs in with a code from the mailbox.
 * @param server the process that runs the account server
 */
export async function signIn(
  daemon: TestDaemon,
  server: Pick<TestDaemon, 'stateDir'>,
  email: string,
  reset = false,
): Promise<SignIn> {
  await asOwner(daemon, 'POST', '/local/v1/sign-in', { email })
  const letters = await lettersIn(join(server.stateDir, 'mail'), email)
  const letter = letters.filter(hasCode).at(-1)
  assert(letter)
  return asOwner(daemon, 'POST', '/local/v1/sign-in/code', { code: codeIn(letter), reset })
}

export interface Machine {
  readonly account: string
  readonly key: KeyPair
  /** The key in the form of its key file. */
  readonly file: object
  /** Returns a new `csm_` token of this scope. */
  token(scope: string): Promise<string>
}

/** Creates an organisation of the daemon’s owner; returns its id. */
export const newOrganisation = async (daemon: TestDaemon, name: string): Promise<string> =>
  (await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/org', { name })).id

/** Creates an organisation and makes it active for the session of the daemon. */
export async function activeOrganisation(
  daemon: TestDaemon,
  name = 'Example Ltd',
): Promise<string> {
  const organisation_id = await newOrganisation(daemon, name)
  await asOwner(daemon, 'POST', '/api/v1/context/active-org', { organisation_id })
  return organisation_id
}

/**
 * Creates a machine account in an organisation of the daemon’s owner, by default in a new one.
 */
export async function newMachine(daemon: TestDaemon, organisation?: string): Promise<Machine> {
  const id = organisation ?? (await newOrganisation(daemon, 'Example Ltd'))
  const key = newDeviceKeys().auth
  const made = await asOwner<{ machine_id: string; token_endpoint: string }>(
    daemon,
    'POST',
    '/local/v1/machines',
    { organisation_id: id, name: 'billing', key: key.jwk },
  )
  const { machine_id: machine, token_endpoint } = made
  return {
    account: machine,
    key,
    file: { ...key.jwk, d: encodeBase64url(key.secret), machine, token_endpoint },
    async token(scope) {
      const at = Math.floor(Date.now() / 1000)
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: await signAssertion({ machine, audience: token_endpoint, at }, key),
        scope,
      })
      const { origin, pathname } = new URL(token_endpoint)
      const question: Question = {
        body: form.toString(),
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      }
      const { status, json, text } = await ask(origin, 'POST', pathname, question)
      assert.equal(status, 200, text)
      return (json as { access_token: string }).access_token
    },
  }
}
