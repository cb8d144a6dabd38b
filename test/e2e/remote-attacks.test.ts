/**
 * An attacker who listens between daemons and account servers, steals messages, or has a machine
 * account’s token: what each of them can do. Over real HTTP, against two replicas on one
 * database.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import {
  EmbeddedJWK,
  calculateJwkThumbprint,
  decodeJwt,
  decodeProtectedHeader,
  jwtVerify,
} from 'jose'
import * as oauth from 'oauth4webapi'
import type { SignIn } from '../../src/api/local/index.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import {
  type Device,
  type Credentials,
  type TestServer,
  proven,
  signIn as enrolDevice,
  startAccountServer,
} from '../account-server.ts'
import { type Answer, type TestDaemon, ask, startDaemon } from '../daemon.ts'
import { type Machine, approveDevice, asOwner, newMachine } from '../handlers/people.ts'
import { codeIn, lettersIn } from '../service/letters.ts'
import { newDatabase } from '../service/shared-postgres.ts'
import { type Json, caller, listed } from './caller.ts'
import { type RecordedRequest, type Wire, startWire } from './servers.ts'

const CONTEXT = '/api/v1/context'
const says = ({ status, json }: Answer) =>
  `${status} ${(json as { error?: string } | undefined)?.error ?? ''}`.trim()

const afters: (() => unknown)[] = []
const t = { after: (fn: unknown) => void afters.push(fn as () => unknown) }

let wire: Wire
let one: TestServer
let two: TestServer

const portOf = ({ address }: TestServer) => Number(new URL(address).port)
const both = () => [one, two]

before(async () => {
  wire = await startWire(t)
  const env = { SVC_DATABASE_URL: await newDatabase(), SVC_PUBLIC_URL: wire.url }
  one = await startAccountServer(t, env)
  two = await startAccountServer(t, env)
  wire.to = portOf(one)
})
after(async () => {
  for (const fn of afters.toReversed()) await fn()
})

/** Starts a daemon without a signed-in user. */
async function daemonOf(): Promise<TestDaemon> {
  const daemon = await startDaemon({ SVC_BACKEND_URL: wire.url })
  t.after(() => daemon.close())
  return daemon
}

/** Signs in with a mailed code; replica one sends the mail. */
async function signIn(daemon: TestDaemon, email: string): Promise<SignIn> {
  await asOwner(daemon, 'POST', '/local/v1/sign-in', { email })
  const letter = (await lettersIn(join(one.stateDir, 'mail'), email)).at(-1)!
  return asOwner(daemon, 'POST', '/local/v1/sign-in/code', { code: codeIn(letter) })
}

/** Enrols a device of a new account, with its keys available to the test. */
const device = (email: string): Promise<Device> => enrolDevice(one, email)

/** Returns the headers of a request with a proof for the public address, as a device makes it. */
async function headersFor(
  credentials: Credentials,
  method: string,
  path: string,
  more: { scheme?: string } = {},
): Promise<Record<string, string>> {
  const url = wire.url + path
  const first = await one.request(method, path, {
    headers: await proven(one, method, path, credentials, { url }),
  })
  const nonce = first.headers['dpop-nonce'] as string
  return proven(one, method, path, credentials, { url, nonce, ...more })
}

/** Repeats a recorded request, at either replica. */
function again(
  server: TestServer,
  { method, target, headers, body }: RecordedRequest,
): Promise<Answer> {
  const { authorization, dpop, 'content-type': type, 'idempotency-key': key } = headers
  const sent = Object.entries({
    Authorization: authorization,
    DPoP: dpop as string | undefined,
    'Content-Type': type,
    'Idempotency-Key': key as string | undefined,
  }).filter((field): field is [string, string] => field[1] !== undefined)
  return ask(server.address, method, target, {
    headers: Object.fromEntries(sent),
    ...(body === '' ? {} : { body }),
  })
}

describe('requests between a daemon and its server', () => {
  let daemon: TestDaemon
  let call: ReturnType<typeof caller>
  const proofOf = ({ headers }: RecordedRequest) => headers['dpop'] as string | undefined
  const tokenOf = ({ headers }: RecordedRequest) => headers.authorization?.replace(/^DPoP /, '')
  const last = (method: string, target: string) => {
    const found = wire.requests.findLast(
      (it) => it.method === method && it.target === target && it.status < 300,
    )
    assert(found, `${method} ${target} was heard`)
    return found
  }

  before(async () => {
    wire.to = portOf(one)
    daemon = await daemonOf()
    await signIn(daemon, 'ada@example.org')
    call = caller(daemon.address, await daemon.token('full'))
    for (const server of both()) {
      wire.to = portOf(server)
      const { id } = await call('POST /api/v1/connections', { name: 'Bob' })
      await call(`PATCH /api/v1/connections/${id}`, { name: 'Robert' })
      await call('GET /api/v1/connections?limit=1')
      await call(`DELETE /api/v1/connections/${id}`)
      await call('GET /api/v1/context')
    }
    wire.to = portOf(one)
  })

  test('have proofs that an independent library accepts', async () => {
    const given = new Set<unknown>(wire.requests.map(({ answered }) => answered['dpop-nonce']))
    const enrolment = wire.requests.find(({ target }) => target === '/device/v1/enrolments')!
    const { entry } = JSON.parse(enrolment.body) as { entry: string }
    const { auth } = decodeJwt(entry)['keys'] as { auth: { kty: string } }
    const jkt = await calculateJwkThumbprint(auth)
    const methods = new Set<string>()
    const used = new Set<unknown>()
    for (const requests of wire.requests) {
      const [proof, token] = [proofOf(requests), tokenOf(requests)]
      if (proof === undefined) {
        assert.equal(token, undefined, `${requests.target} without a proof`)
        continue
      }
      const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
        typ: 'dpop+jwt',
        algorithms: ['Ed25519'],
        maxTokenAge: 60,
      })
      const { jwk, ...rest } = protectedHeader
      assert.deepEqual(rest, { alg: 'Ed25519', typ: 'dpop+jwt' })
      assert.deepEqual(jwk, auth)
      assert.equal(await calculateJwkThumbprint(jwk), jkt)
      const { jti, iat, nonce, ...claims } = payload
      assert.deepEqual(claims, {
        htm: requests.method,
        htu: wire.url + requests.target.replace(/\?.*/, ''),
        ...(token === undefined ? {} : { ath: hash('sha256', token, 'base64url') }),
      })
      assert(Number.isInteger(iat) && !used.has(jti))
      if (requests.status !== 401) assert(nonce !== undefined && given.has(nonce), requests.target)
      used.add(jti)
      methods.add(requests.method)
    }
    assert.deepEqual([...methods].toSorted(), ['DELETE', 'GET', 'PATCH', 'POST'])
  })

  const thief = newDeviceKeys().auth
  const stolen = () => tokenOf(last('GET', CONTEXT)) as string
  const REFUSED = /^401 invalid_token$/
  const thieves: [name: string, says: RegExp, headers: () => Promise<Record<string, string>>][] = [
    [
      'with a proof of the thief’s own key',
      REFUSED,
      () => headersFor({ key: thief, token: stolen() }, 'GET', CONTEXT),
    ],
    ['as a bearer token', REFUSED, async () => ({ Authorization: `Bearer ${stolen()}` })],
    [
      'as a bearer token, beside a proof that passed with it',
      REFUSED,
      async () => ({ Authorization: `Bearer ${stolen()}`, DPoP: proofOf(last('GET', CONTEXT))! }),
    ],
    ['without a proof', REFUSED, async () => ({ Authorization: `DPoP ${stolen()}` })],
  ]
  for (const [name, expected, headers] of thieves)
    test(`a stolen access token, ${name}, is rejected by both replicas`, async () => {
      for (const server of both()) {
        const answer = await server.request('GET', CONTEXT, { headers: await headers() })
        assert.match(says(answer), expected)
        assert.doesNotMatch(answer.text, /ada@example\.org/)
      }
      assert.equal((await call(`GET ${CONTEXT}`)).user.email, 'ada@example.org')
    })

  test('a stolen refresh token is useless without its key', async () => {
    const renewal = last('POST', '/device/v1/session')
    const { refresh_token } = JSON.parse(renewal.body) as { refresh_token: string }
    for (const server of both()) {
      const headers = await headersFor({ key: thief }, 'POST', '/device/v1/session')
      const answer = await server.request('POST', '/device/v1/session', {
        headers,
        body: { refresh_token },
      })
      assert.equal(says(answer), '401 invalid_token')
      assert.equal(says(await again(server, renewal)), '401 invalid_token')
    }
    assert.equal((await call(`GET ${CONTEXT}`)).user.email, 'ada@example.org')
  })

  test('a repeated request is rejected by both replicas', async () => {
    const writes = () =>
      wire.requests.filter(
        ({ target, status }) => target === '/device/v1/rosters' && status === 201,
      )
    assert.equal(writes().length, 2)
    for (const server of both()) {
      wire.to = portOf(server)
      await call(`GET ${CONTEXT}`)
      const read = last('GET', CONTEXT)
      for (const where of both())
        for (const request of [read, ...writes()])
          assert.equal(says(await again(where, request)), '401 invalid_token', request.target)
    }
    wire.to = portOf(one)
    assert.deepEqual(await listed(call, '/api/v1/connections'), [], 'nothing came back')
  })
})

test('of two concurrent uses of one proof at two replicas, one succeeds', async () => {
  const { credentials } = await device('eve@example.org')
  for (let round = 0; round < 5; round++) {
    const headers = await headersFor(credentials, 'GET', CONTEXT)
    const answers = await Promise.all(
      [one, two, one, two].map((server) => server.request('GET', CONTEXT, { headers })),
    )
    assert.deepEqual(answers.map(says).toSorted(), ['200', ...Array(3).fill('401 invalid_token')])
  }
})

test('both replicas accept proofs that oauth4webapi makes with the device’s key', async () => {
  const { credentials } = await device('dan@example.org')
  const { secret, jwk } = credentials.key
  const d = encodeBase64url(secret)
  const client: oauth.Client = { client_id: 'of the device' }
  const DPoP = oauth.DPoP(client, {
    privateKey: await crypto.subtle.importKey('jwk', { ...jwk, d }, 'Ed25519', false, ['sign']),
    publicKey: await crypto.subtle.importKey('jwk', jwk, 'Ed25519', true, ['verify']),
  })
  const get = () =>
    oauth.protectedResourceRequest(
      credentials.token,
      'GET',
      new URL(CONTEXT, wire.url),
      undefined,
      null,
      {
        DPoP,
        [oauth.allowInsecureRequests]: true,
      },
    )
  // The first request has no nonce yet, and gets one.
  await assert.rejects(get(), (error) => oauth.isDPoPNonceError(error))
  for (const server of both()) {
    wire.to = portOf(server)
    const answer = await get()
    assert.equal(answer.status, 200)
    assert.equal(((await answer.json()) as Json).user.email, 'dan@example.org')
  }
  wire.to = portOf(one)
})

const keyOf = (proof: string) => (decodeProtectedHeader(proof)['jwk'] as { x: string }).x

test('a device revoked at one replica is rejected at its next request by the other', async () => {
  const [laptop, second] = [await daemonOf(), await daemonOf()]
  await signIn(laptop, 'grace@example.org')
  const { state } = await signIn(second, 'grace@example.org')
  assert.equal(state, 'awaiting_approval')
  const owner = caller(laptop.address, laptop.owner())
  const devices = () => listed(owner, '/api/v1/devices')
  const id = await approveDevice(laptop, second)
  assert.equal((await devices()).find((it) => it.id === id).state, 'active')

  const token = await second.token('full')
  const get = () => second.request('GET', '/api/v1/connections', { token })
  wire.to = portOf(two)
  assert.equal(says(await get()), '200')
  wire.to = portOf(one)
  const count = wire.requests.length
  await owner(`DELETE /api/v1/devices/${id}`)
  wire.to = portOf(two)
  assert.equal(says(await get()), '409 not_signed_in')
  const { keys } = JSON.parse(
    wire.requests.findLast(({ target }) => target === '/device/v1/enrolments/further')!.body,
  ) as { keys: { auth: { x: string } } }
  const answers = wire.requests
    .slice(count)
    .filter(({ headers }) => headers['dpop'] !== undefined)
    .filter(({ headers }) => keyOf(headers['dpop'] as string) === keys.auth.x)
    .map(({ status }) => status)
  // Earlier requests of its sync may have succeeded, also during the revocation; every request
  // from now on is rejected.
  assert.equal(answers.at(-1), 401)
  await owner('GET /api/v1/connections')
  wire.to = portOf(one)
})

describe('a machine token at another account’s daemon', () => {
  let daemon: TestDaemon
  let machine: Machine
  let token: string
  let owner: ReturnType<typeof caller>
  /** The ids of the owner’s resources. */
  const its: Record<'account' | 'connection' | 'guest' | 'token' | 'device', string> = {
    account: '',
    connection: '',
    guest: '',
    token: '',
    device: '',
  }
  const asMachine = (request: string, body?: unknown, by = token) => {
    const [method = '', path = ''] = request.split(' ')
    return daemon.request(method, path, { token: by, body })
  }

  before(async () => {
    wire.to = portOf(one)
    daemon = await daemonOf()
    const { account_id } = await signIn(daemon, 'linus@example.org')
    owner = caller(daemon.address, await daemon.token('full'))
    const [made] = await listed(owner, '/api/v1/api-tokens')
    const [known] = await listed(owner, '/api/v1/devices')
    const { id: connection } = await owner('POST /api/v1/connections', { name: 'The bank' })
    const { id: guest } = await owner('POST /api/v1/guest-codes', { label: 'The plumber' })
    await owner('POST /api/v1/verify', { words: 'matador carload recede' })
    await owner('POST /api/v1/sync')
    Object.assign(its, { account: account_id, connection, guest, token: made.id, device: known.id })
    machine = await newMachine(daemon)
    token = await machine.token('full')
  })

  /** Returns the owner’s data. */
  const belongings = async () => ({
    connections: await listed(owner, '/api/v1/connections'),
    guests: (await listed(owner, '/api/v1/guest-codes')).map(({ id, state }) => [id, state]),
    tokens: (await listed(owner, '/api/v1/api-tokens')).map(({ id, state }) => [id, state]),
    devices: (await listed(owner, '/api/v1/devices')).map(({ id }) => id),
    log: (await listed(owner, '/api/v1/verification-log')).map(({ id }) => id),
  })

  test('belongs to the machine, and sees nothing of the owner', async () => {
    const { json } = await asMachine(`GET ${CONTEXT}`)
    const { user } = json as Json
    assert.deepEqual([user.id, user.kind], [machine.account, 'machine'])
    for (const path of [
      CONTEXT,
      '/api/v1/connections',
      '/api/v1/guest-codes',
      '/api/v1/api-tokens',
      '/api/v1/devices',
      '/api/v1/verification-log',
      '/api/v1/status',
    ]) {
      const answer = await asMachine(`GET ${path}`)
      assert.equal(answer.status, 200, path)
      for (const [what, id] of Object.entries(its))
        assert(!answer.text.includes(id), `${path} shows the ${what} of the owner`)
      assert.doesNotMatch(answer.text, /linus|The bank|The plumber/i, path)
    }
    const tokens = ((await asMachine('GET /api/v1/api-tokens')).json as Json).items
    assert.equal(tokens.length, 1, 'its own')
  })

  test('cannot change, make or end anything of the owner', async () => {
    const before = await belongings()
    const tries: [request: string, expected: string, body?: object][] = [
      [`GET /api/v1/connections/${its.connection}`, '404 not_found'],
      [`PATCH /api/v1/connections/${its.connection}`, '404 not_found', { name: 'Mine' }],
      [`POST /api/v1/connections/${its.connection}/favorite`, '404 not_found', { favorite: true }],
      [`DELETE /api/v1/connections/${its.connection}`, '404 not_found'],
      [`GET /api/v1/connections/${its.connection}/code`, '409 no_device'],
      ['POST /api/v1/connections', '409 no_device', { name: 'Mine' }],
      [`DELETE /api/v1/guest-codes/${its.guest}`, '404 not_found'],
      [`GET /api/v1/guest-codes/${its.guest}/qr`, '409 no_device'],
      ['POST /api/v1/guest-codes', '409 no_device', { label: 'Mine' }],
      [`DELETE /api/v1/api-tokens/${its.token}`, '404 not_found'],
      ['POST /api/v1/token', '409 no_device', { name: 'Mine', scope: 'full' }],
      [`DELETE /api/v1/devices/${its.device}`, '404 not_found'],
      ['POST /api/v1/stamp', '409 no_device', { content: 'Mine' }],
      ['POST /api/v1/sync', '409 no_device'],
      ['GET /local/v1/sign-in', '403 forbidden'],
      ['POST /api/v1/org', '403 forbidden', { name: 'Mine' }],
    ]
    const got: [string, string][] = []
    for (const [request, , body] of tries) got.push([request, says(await asMachine(request, body))])
    assert.deepEqual(
      got,
      tries.map(([request, expected]) => [request, expected]),
    )
    assert.deepEqual(await belongings(), before)
  })

  test('mints tokens of the machine', async () => {
    const before = await belongings()
    const { status, json } = await asMachine('POST /api/v1/api-tokens', {
      name: 'x',
      scope: 'full',
    })
    assert.equal(status, 201)
    const minted = (json as { token: string }).token
    assert.match(minted, /^csm_/)
    const { user } = (await asMachine(`GET ${CONTEXT}`, undefined, minted)).json as Json
    assert.equal(user.id, machine.account)
    assert.deepEqual(await belongings(), before)
  })

  test('revoked at one replica, is rejected at its next request through the other', async () => {
    const last = await machine.token('full')
    const { items } = (await asMachine('GET /api/v1/api-tokens', undefined, last)).json as Json
    wire.to = portOf(two)
    assert.equal(says(await asMachine(`GET ${CONTEXT}`, undefined, last)), '200')
    wire.to = portOf(one)
    // The newest in the list is the calling token.
    const gone = await asMachine(`DELETE /api/v1/api-tokens/${items[0].id}`, undefined, last)
    assert.equal(gone.status, 204)
    wire.to = portOf(two)
    for (const path of [CONTEXT, '/api/v1/connections', '/api/v1/status'])
      assert.equal(says(await asMachine(`GET ${path}`, undefined, last)), '401 invalid_token', path)
    wire.to = portOf(one)
  })
})
