/**
 * Tests the account server’s listener.
 * The cases cover the body of every refusal, requests without credentials, and the owner of a
 * repeated request.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { entrance } from '../../src/api/device/index.ts'
import { ACCOUNT_RULES, scopeTable } from '../../src/auth/scopes.ts'
import { signAssertion } from '../../src/crypto/jose/client-assertion.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { newToken } from '../../src/crypto/token.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { accountTable } from '../../src/http/account-listener.ts'
import {
  type Device,
  type TestServer,
  askProven,
  proven,
  signIn,
  startAccountServer,
} from '../account-server.ts'
import type { Answer } from '../daemon.ts'
import { codeIn, lettersIn } from '../service/letters.ts'
import { enrolmentOf, furtherOf, newMaker, newcomerOf } from '../service/person.ts'

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }
const BY_JWT = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const CONTEXT = '/api/v1/context'
const KIB = 1024

const says = ({ status, json }: Answer) =>
  `${status} ${String((json as { error?: string } | undefined)?.error ?? '')}`.trim()

describe('the account server’s listener', () => {
  const afters: (() => unknown)[] = []
  let server: TestServer
  let ada: Device
  before(async () => {
    server = await startAccountServer({ after: (fn) => void afters.push(fn as () => unknown) })
    ada = await signIn(server, 'ada@example.org')
  })
  after(async () => {
    for (const fn of afters.toReversed()) await fn()
  })

  /** Checks the challenge of a 401 answer (RFC 9110 section 11.6.1). */
  function challenged(answer: Answer, what: string) {
    assert.equal(answer.status, 401, `${what}: ${answer.text}`)
    assert.match(String(answer.headers['www-authenticate']), /^(Bearer|DPoP)\b/, what)
  }

  test('every row that needs a token challenges missing and wrong ones', async () => {
    const need = scopeTable(ACCOUNT_RULES)
    for (const { route } of rowsOf(accountTable)) {
      const path = route.path.replaceAll(/\{\w+\}/g, 'x')
      if (need(route.method, path.split('/').filter(Boolean)) === 'none') continue
      const what = `${route.method} ${path}`
      challenged(await server.request(route.method, path), what)
      for (const Authorization of [
        `Bearer ${newToken('csm_')}`,
        'Bearer x',
        `DPoP ${newToken('csm_')}`,
        'DPoP x',
        'Basic eDp4',
      ])
        challenged(await server.request(route.method, path, { headers: { Authorization } }), what)
    }
  })

  test('rejected credentials get a challenge, too, at rows without a token', async () => {
    const code = 'AAAA-AAAA-AAAA-AAAA'
    const key = newDeviceKeys().auth
    const assertion = await signAssertion(
      { machine: newId('mch_', 1), audience: server.address, at: Math.floor(Date.now() / 1000) },
      key,
    )
    const { body } = enrolmentOf(newMaker(), code)
    const { code: _, ...further } = furtherOf(newcomerOf(), code).body
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: BY_JWT,
      client_assertion: assertion,
    }).toString()
    const cases: [path: string, body: unknown, headers?: Record<string, string>][] = [
      ['/device/v1/sign-ins/account', { code }],
      ['/device/v1/sign-ins/account', { assertion }],
      ['/device/v1/enrolments', body],
      ['/device/v1/enrolments/further', { ...further, code }],
      ['/device/v1/enrolments/further', { ...further, assertion }],
      ['/device/v1/session', { refresh_token: 'x' }],
      ['/oauth/token', form, FORM],
      ['/oauth/token', 'grant_type=client_credentials', { ...FORM, Authorization: 'Basic eDp4' }],
    ]
    for (const [path, sent, headers = {}] of cases)
      challenged(await server.request('POST', path, { body: sent, headers }), path)
    const renewal = { body: { refresh_token: 'x' } }
    challenged(await askProven(server, 'POST', '/device/v1/session', { key }, renewal), 'renewal')
  })

  test('a machine token is a bearer token, and a session token is not', async () => {
    const made = async (path: string, body: object) =>
      (await askProven(server, 'POST', path, ada.credentials, { body })).json as Record<
        string,
        string
      >
    const key = newDeviceKeys().auth
    const { id: organisation_id } = await made('/api/v1/org', { name: 'Example' })
    const machine = await made('/device/v1/machines', {
      organisation_id,
      name: 'billing',
      key: key.jwk,
    })
    const assertion = await signAssertion(
      {
        machine: machine['machine_id']!,
        audience: machine['token_endpoint']!,
        at: Math.floor(Date.now() / 1000),
      },
      key,
    )
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: BY_JWT,
      client_assertion: assertion,
      scope: 'full',
    }).toString()
    const { json } = await server.request('POST', '/oauth/token', { body, headers: FORM })
    const { access_token: token } = json as { access_token: string }
    const ask = async (headers: Record<string, string>) =>
      says(await server.request('GET', CONTEXT, { headers }))
    assert.equal(await ask({ Authorization: `Bearer ${token}` }), '200')
    assert.equal(await ask({ Authorization: `DPoP ${token}` }), '401 invalid_token')
    const bound = await askProven(server, 'GET', CONTEXT, { key, token })
    assert.equal(says(bound), '401 invalid_token')
    assert.match(String(bound.headers['www-authenticate']), /^Bearer error="invalid_token"/)
    const { token: own } = ada.credentials
    assert.equal(await ask({ Authorization: `Bearer ${own}` }), '401 invalid_token')
  })

  for (const { route } of rowsOf(entrance).filter((row) => row.route.method === 'POST'))
    test(`${route.path}: a stranger can send 64 KiB at most`, async () => {
      const isForm = route.path === '/oauth/token'
      const sent = (bytes: number) => ({
        body: isForm ? `x=${'y'.repeat(bytes - 2)}` : JSON.stringify('y'.repeat(bytes - 2)),
        headers: isForm ? FORM : { 'Content-Type': 'application/json' },
      })
      const most = await server.request('POST', route.path, sent(64 * KIB))
      assert.notEqual(most.status, 413)
      const more = await server.request('POST', route.path, sent(64 * KIB + 1))
      assert.equal(says(more), '413 payload_too_large')
    })

  test('an unneeded proof is not checked', async () => {
    const key = newDeviceKeys().auth
    const good = await proven(server, 'GET', '/device/v1/clock', { key })
    for (const headers of [good, good, { DPoP: 'garbage' }])
      assert.equal((await server.request('GET', '/device/v1/clock', { headers })).status, 200)
    const body = { refresh_token: ada.refreshToken }
    const renewal = await server.request('POST', '/device/v1/session', {
      headers: { DPoP: 'garbage' },
      body,
    })
    assert.equal(says(renewal), '401 invalid_token')
  })

  test('a repeated request of one device in another session runs once', async () => {
    const make = async (token: string) =>
      askProven(
        server,
        'POST',
        '/api/v1/org',
        { ...ada.credentials, token },
        {
          body: { name: 'Once' },
          headers: { 'Idempotency-Key': 'across-sessions' },
        },
      )
    const first = await make(ada.credentials.token)
    assert.equal(first.status, 201)
    const session = await signInAgain()
    const second = await make(session)
    assert.deepEqual([second.status, second.text], [201, first.text])
  })

  /** Creates another session of Ada’s device; returns its access token. */
  async function signInAgain(): Promise<string> {
    const email = 'ada@example.org'
    await server.request('POST', '/device/v1/sign-ins', { body: { email } })
    const letters = await lettersIn(`${server.stateDir}/mail`, email)
    const { json } = await server.request(
      'POST',
      '/device/v1/enrolments',
      enrolmentOf(ada, codeIn(letters.at(-1)!)),
    )
    return (json as { session: { access_token: string } }).session.access_token
  }
})
