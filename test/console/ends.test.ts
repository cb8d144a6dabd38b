/** Tests when a console and its codes end, with a clock of the test. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, it } from 'node:test'
import { type ConsoleAccess, newConsoleAccess } from '../../src/auth/console/access.ts'
import type { Scope } from '../../src/auth/scopes.ts'
import { type Tokens, openTokens } from '../../src/auth/tokens.ts'
import { type KeyPair, signingKeyFrom } from '../../src/crypto/device-keys.ts'
import { signProof } from '../../src/crypto/jose/dpop.ts'
import type { Keychain } from '../../src/keychain/backend.ts'
import { type State, openState } from '../../src/state/state.ts'
import { openFolder } from '../../src/storage/folder.ts'
import { memoryKeychain } from '../keychain/memory.ts'
import { rejects } from '../rejects.ts'

const T0 = Date.UTC(2026, 0, 2, 3, 4, 5)
const ADDRESS = 'http://127.0.0.1:19821'
const MINUTE = 60_000
const HOUR = 60 * MINUTE

let dir: string
let state: State
let keychain: Keychain
let clock: number
let account: string | null
let tokens: Tokens
let access: ConsoleAccess
/** How often the page of a code was deleted. */
let dropped: number

function start(): void {
  tokens = openTokens({
    keychain,
    rows: state.tokens,
    now: () => clock,
    commandLineToken: () => 'csd_the-token-of-the-command-line',
    account: () => account,
  })
  access = newConsoleAccess({
    tokens,
    address: () => ADDRESS,
    dropPage: () => dropped++,
    endLinks: async () => undefined,
    now: () => clock,
    log: () => undefined,
  })
}

beforeEach(() => {
  dir = join(mkdtempSync(join(tmpdir(), 'countersign-test-')), 'state')
  openFolder(dir)
  state = openState(dir)
  keychain = memoryKeychain()
  clock = T0
  account = 'acc_ada'
  dropped = 0
  start()
})
afterEach(() => {
  state.close()
  rmSync(join(dir, '..'), { recursive: true, force: true })
})

async function proofOf(key: KeyPair, method: string, path: string, accessToken?: string) {
  const at = Math.floor(clock / 1000)
  const nonce = access.nonce()
  const of = { method, url: ADDRESS + path, at, nonce, ...(accessToken && { accessToken }) }
  return { text: await signProof(of, key), method, path }
}

async function exchange(code: string, key: KeyPair) {
  const proof = await proofOf(key, 'POST', '/console/v1/session')
  return access.open({ code, proof, userAgent: undefined })
}

/** Creates a code, and opens its link. */
function newCode(scope: Scope) {
  const made = access.createCode(scope)
  access.visited(made.visit)
  return made
}

/** Opens a console; the result sends a request with its token. */
async function opened(scope: Scope = 'write') {
  const key = signingKeyFrom(randomBytes(32))
  const { token, id } = await exchange(newCode(scope).code, key)
  const send = async () => {
    const { text } = await proofOf(key, 'GET', '/api/v1/status', token)
    const asked = { token, proof: text, method: 'GET', segments: ['api', 'v1', 'status'] }
    return (await access.caller(asked)).scope
  }
  return { id, send, ends: () => rejects('invalid_token', send()) }
}

const stateOf = (id: string) => tokens.list().find((one) => one.id === id)?.state

it('a console ends after 30 minutes without a request, also across a restart', async () => {
  const page = await opened()
  clock += 29 * MINUTE
  assert.equal(await page.send(), 'write')
  tokens.flush()
  start()
  clock += 29 * MINUTE
  assert.equal(await page.send(), 'write')
  clock += 30 * MINUTE
  assert.equal(tokens.scopeOf(page.id), null)
  await page.ends()
  assert.equal(stateOf(page.id), 'expired')
})

it('a console that was never used ends after 30 minutes', async () => {
  const page = await opened()
  clock += 30 * MINUTE
  await page.ends()
})

it('a console ends after twelve hours of use', async () => {
  const page = await opened()
  for (; clock < T0 + 12 * HOUR; clock += 20 * MINUTE) await page.send()
  await page.ends()
})

it('the scope full becomes write after 15 minutes', async () => {
  const page = await opened('full')
  clock += 15 * MINUTE - 1
  assert.deepEqual([await page.send(), tokens.scopeOf(page.id)], ['full', 'full'])
  clock += 1
  assert.deepEqual([await page.send(), tokens.scopeOf(page.id)], ['write', 'write'])
  assert.equal(tokens.list()[0]?.scope, 'write')
})

for (const next of ['acc_bob', null])
  it(`a console ends if the account is ${next}`, async () => {
    const page = await opened()
    account = next
    await page.ends()
  })

it('a console without an account ends when an account signs in', async () => {
  account = null
  const page = await opened()
  assert.equal(await page.send(), 'write')
  account = 'acc_ada'
  await page.ends()
})

it('a code ends after a minute, and its page is deleted', async () => {
  const key = signingKeyFrom(randomBytes(32))
  const { code, expires_at } = newCode('read')
  assert.equal(Date.parse(expires_at), T0 + MINUTE)
  clock += MINUTE
  await rejects('forbidden', exchange(code, key))
  assert.equal(dropped, 1)
})

it('the page of a code is deleted when no code is open any more', async () => {
  const key = signingKeyFrom(randomBytes(32))
  const [one, two] = [newCode('read'), newCode('read')]
  await exchange(one.code, key)
  assert.equal(dropped, 0)
  await exchange(two.code, key)
  assert.equal(dropped, 1)
})

it('only the ten newest codes are open', async () => {
  const key = signingKeyFrom(randomBytes(32))
  const codes = Array.from({ length: 11 }, () => newCode('read').code)
  await rejects('forbidden', exchange(codes[0]!, key))
  for (const code of codes.slice(1)) await exchange(code, key)
  assert.equal(dropped, 1)
})

it('a proof is not accepted again while its nonce is', async () => {
  clock = Date.UTC(2026, 0, 2, 3, 5, 30)
  const key = signingKeyFrom(randomBytes(32))
  const { token } = await exchange(newCode('write').code, key)
  const { text } = await proofOf(key, 'GET', '/a', token)
  const asked = () => access.caller({ token, proof: text, method: 'GET', segments: ['a'] })
  await asked()
  await rejects('invalid_token', asked())
  // Another nonce is the newest one, and the one in the proof is still accepted.
  const nonce = access.nonce()
  clock += 50_000
  assert.notEqual(access.nonce(), nonce)
  await rejects('invalid_token', asked())
})

it('consoles that ended a week ago leave the list and the keychain', async () => {
  const page = await opened()
  const plain = tokens.mint({ name: 'ci', scope: 'read', expires_in: 60 })
  clock += 6 * 24 * HOUR
  await opened()
  assert.equal(stateOf(page.id), 'expired')
  clock += 2 * 24 * HOUR
  const newest = await opened()
  assert.equal(stateOf(page.id), undefined)
  assert.equal(keychain.get(`token/${page.id}`), null)
  start()
  assert.equal(stateOf(page.id), undefined)
  assert.deepEqual([stateOf(plain.id), stateOf(newest.id)], ['expired', 'active'])
})
