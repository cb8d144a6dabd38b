/**
 * The account server alone, over HTTP: which routes a caller may call, with which proof, and that
 * a write under an idempotency key is done once.
 */
import assert from 'node:assert/strict'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { serveAccount } from '../src/daemon/account-server.ts'
import { signedIn } from '../src/api/device/index.ts'
import { serverCommand } from '../src/cli/commands/serve.ts'
import { readConfig } from '../src/config/config.ts'
import { signAssertion } from '../src/crypto/jose/client-assertion.ts'
import { newDeviceKeys } from './crypto/keys.ts'
import { EXIT, StartError } from '../src/errors.ts'
import { newLog } from '../src/log.ts'
import { hostsOf } from '../src/http/address.ts'
import { freshFolder } from './keychain/fresh-folder.ts'
import {
  type Device,
  type TestServer,
  askProven,
  proven,
  signIn,
  startAccountServer,
} from './account-server.ts'
import { type Answer, ask } from './daemon.ts'

const says = ({ status, json }: Answer) =>
  `${status} ${String((json as { error?: string } | undefined)?.error ?? '')}`.trim()
const challenge = ({ headers }: Answer) => headers['www-authenticate']

describe('over SQLite', () => {
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

  const asAda = (method: string, path: string, question = {}) =>
    askProven(server, method, path, ada.credentials, question)
  const nonce = async () => {
    const headers = await proven(server, 'GET', '/health', { key: ada.keys.auth })
    const answer = await server.request('GET', '/device/v1/clock', { headers })
    return answer.headers['dpop-nonce'] as string
  }

  for (const [path, status] of [
    ['/health', 200],
    ['/health/ready', 200],
    ['/device/v1/clock', 200],
    ['/.well-known/oauth-authorization-server', 200],
    // A page for a code that does not exist.
    ['/g/gst_00000000000000000000000000', 404],
  ] as const)
    test(`GET ${path} needs no token`, async () => {
      const answer = await server.request('GET', path)
      assert.equal(answer.status, status)
      assert.notEqual(answer.headers['content-type'], undefined)
      assert.equal(answer.headers['dpop-nonce'], undefined)
    })

  const closed: [method: string, path: string][] = [
    ['GET', '/api/v1/context'],
    ['GET', '/api/v1/guest-codes'],
    ['GET', '/device/v1/envelopes/x'],
    ['POST', '/api/v1/org'],
    ['GET', '/device/v1/token'],
    ['GET', '/nope'],
  ]
  for (const [method, path] of closed)
    test(`${method} ${path} without a token names the accepted schemes; with a wrong one, the error`, async () => {
      const none = await server.request(method, path)
      assert.equal(says(none), '401 unauthorized')
      assert.match(challenge(none) as string, /^Bearer, DPoP algs="/)
      assert(!/POST \/api\/v1\/token/.test(none.text), 'no token is made there')
      const wrong = await server.request(method, path, { token: `csm_${'x'.repeat(36)}` })
      assert.equal(says(wrong), '401 invalid_token')
      assert.match(challenge(wrong) as string, /Bearer error="invalid_token"/)
    })

  for (const [method, path] of [
    ['GET', '/api/v1/status'],
    ['GET', '/api/v1/openapi.json'],
    ['POST', '/api/v1/token'],
    ['GET', '/local/v1/sign-in'],
  ] as const)
    test(`${method} ${path} exists only at the daemon`, async () => {
      const answer = await asAda(method, path)
      assert.equal(says(answer), '404 no_such_route')
      // An error does not name a route that is absent here as the remedy.
      assert.match(answer.text, /GET \/api\/v1\/openapi\.json at a daemon lists the routes/)
    })

  for (const path of [
    '/api/v1/context',
    '/api/v1/guest-codes',
    '/api/v1/devices',
    '/device/v1/duties',
    '/device/v1/changes',
  ])
    test(`a session can call GET ${path}, with the nonce from the first rejection`, async () => {
      const without = await server.request('GET', path, {
        headers: await proven(server, 'GET', path, ada.credentials),
      })
      assert.equal(says(without), '401 invalid_token')
      assert.match(challenge(without) as string, /^DPoP error="use_dpop_nonce"/)
      const given = without.headers['dpop-nonce'] as string
      const headers = await proven(server, 'GET', path, ada.credentials, { nonce: given })
      const answer = await server.request('GET', path, { headers })
      assert.equal(answer.status, 200)
      assert.match(answer.headers['dpop-nonce'] as string, /./)
      // A proof is valid for one request.
      assert.equal(says(await server.request('GET', path, { headers })), '401 invalid_token')
    })

  const PATH = '/api/v1/context'
  const thieves: [
    name: string,
    says: string,
    headers: (n: string) => Promise<Record<string, string>>,
  ][] = [
    [
      'alone',
      '401 invalid_token',
      async () => ({ Authorization: `Bearer ${ada.credentials.token}` }),
    ],
    [
      'without a scheme, beside its proof',
      '401 invalid_token',
      (n) => proven(server, 'GET', PATH, ada.credentials, { nonce: n, scheme: 'Bearer' }),
    ],
    [
      'as a bound token, without a proof',
      '401 invalid_token',
      async () => ({ Authorization: `DPoP ${ada.credentials.token}` }),
    ],
    [
      'with a proof of another key',
      '401 invalid_token',
      (n) =>
        proven(
          server,
          'GET',
          PATH,
          { ...ada.credentials, key: newDeviceKeys().auth },
          { nonce: n },
        ),
    ],
    [
      'with a proof for another path',
      '401 invalid_token',
      (n) => proven(server, 'GET', '/api/v1/devices', ada.credentials, { nonce: n }),
    ],
    [
      'with a proof for another server',
      '401 invalid_token',
      (n) =>
        proven(server, 'GET', PATH, ada.credentials, {
          nonce: n,
          url: `https://evil.example${PATH}`,
        }),
    ],
    [
      'with a proof for another method',
      '401 invalid_token',
      (n) => proven(server, 'POST', PATH, ada.credentials, { nonce: n }),
    ],
  ]
  for (const [name, expected, headers] of thieves)
    test(`a session token ${name} → ${expected}`, async () => {
      const answer = await server.request('GET', PATH, { headers: await headers(await nonce()) })
      assert.equal(says(answer), expected)
    })

  test('a session is renewed only with its own key', async () => {
    const renew = (key = ada.keys.auth) =>
      askProven(
        server,
        'POST',
        '/device/v1/session',
        { key },
        { body: { refresh_token: ada.refreshToken } },
      )
    const { json } = await renew()
    const { access_token: token } = json as { access_token: string }
    assert.equal((await askProven(server, 'GET', PATH, { key: ada.keys.auth, token })).status, 200)
    assert.equal(says(await renew(newDeviceKeys().auth)), '401 invalid_token')
    const bare = await server.request('POST', '/device/v1/session', {
      body: { refresh_token: ada.refreshToken },
    })
    assert.equal(says(bare), '401 invalid_token')
  })

  test('a machine token reads its account, within its scope, and nothing of devices', async () => {
    const made = async (path: string, body: object) => {
      const answer = await asAda('POST', path, { body })
      assert.equal(answer.status, 201, answer.text)
      return answer.json as Record<string, string>
    }
    const key = newDeviceKeys().auth
    const { id } = await made('/api/v1/org', { name: 'Example' })
    const machine = await made('/device/v1/machines', {
      organisation_id: id,
      name: 'billing',
      key: key.jwk,
    })
    const grant = async (scope: string) => {
      const assertion = await signAssertion(
        {
          machine: machine['machine_id'] as string,
          audience: machine['token_endpoint'] as string,
          at: Math.floor(Date.now() / 1000),
        },
        key,
      )
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
        scope,
      }).toString()
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
      const answer = await server.request('POST', '/oauth/token', { body, headers })
      assert.equal(answer.status, 200, answer.text)
      return (answer.json as { access_token: string }).access_token
    }
    const [read, full] = [await grant('read'), await grant('full')]
    const { json } = await server.request('GET', PATH, { token: read })
    assert.equal((json as { user: { id: string } }).user.id, machine['machine_id'])
    assert.equal((await server.request('GET', '/device/v1/token', { token: read })).status, 200)
    const refused: [token: string, method: string, path: string, error: string][] = [
      [full, 'GET', '/device/v1/envelopes/x', 'forbidden'],
      [full, 'GET', '/device/v1/pending-devices/x', 'forbidden'],
      [full, 'POST', '/device/v1/rosters', 'forbidden'],
      [full, 'DELETE', '/device/v1/session/current', 'forbidden'],
      [full, 'GET', '/device/v1/key-logs/x', 'forbidden'],
      [read, 'DELETE', '/api/v1/guest-codes/x', 'insufficient_scope'],
      [read, 'GET', '/device/v1/machine-tokens', 'insufficient_scope'],
    ]
    for (const [token, method, path, error] of refused)
      assert.equal(says(await server.request(method, path, { token })), `403 ${error}`, path)
  })

  test('a repeated POST with the same key runs once', async () => {
    const bob = await signIn(server, 'bob@example.org')
    const post = (key: string, name = 'Example') =>
      askProven(server, 'POST', '/api/v1/org', bob.credentials, {
        body: { name },
        headers: { 'Idempotency-Key': key },
      })
    const first = await post('k')
    assert.equal(first.status, 201)
    const again = await post('k')
    assert.deepEqual([again.status, again.text], [201, first.text])
    assert.equal(says(await post('k', 'Other')), '422 idempotency_mismatch')
    // A rejected request may be corrected under the same key.
    assert.equal(says(await post('l', '')), '422 validation_failed')
    assert.equal((await post('l', 'Second')).status, 201)
    const storm = await Promise.all(Array.from({ length: 50 }, () => post('m', 'Third')))
    const ids = new Set<string>()
    for (const answer of storm)
      if (answer.status === 201) ids.add(answer.text)
      else assert.equal(says(answer), '409 in_progress')
    assert.equal(ids.size, 1)
    const { json } = await askProven(server, 'GET', PATH, bob.credentials)
    const { organisations } = json as { organisations: { name: string }[] }
    assert.deepEqual(organisations.map(({ name }) => name).toSorted(), [
      'Example',
      'Second',
      'Third',
    ])
  })

  test('keys belong to one session', async () => {
    const [a, b] = [
      await signIn(server, 'eve@example.org'),
      await signIn(server, 'dan@example.org'),
    ]
    const made = await Promise.all(
      [a, b].map(({ credentials }) =>
        askProven(server, 'POST', '/api/v1/org', credentials, {
          body: { name: 'Same' },
          headers: { 'Idempotency-Key': 'same' },
        }),
      ),
    )
    assert.equal(new Set(made.map(({ text }) => text)).size, 2)
  })

  test('the log contains no token and no proof', () => {
    assert(server.log.length > 100)
    assert(!server.log.some((line) => line.includes(ada.credentials.token) || line.includes('eyJ')))
  })
})

describe('the process of the account server', () => {
  const LOG = newLog('error', () => undefined)

  test('locks its state and keeps it private', async (t) => {
    const server = await startAccountServer(t)
    const { stateDir } = server
    await signIn(server, 'ada@example.org')
    assert.equal(statSync(join(stateDir, 'account.db')).mode & 0o777, 0o600)
    assert.equal(statSync(join(stateDir, 'mail')).mode & 0o777, 0o700)
    const second = readConfig({ SVC_STATE_DIR: stateDir, SVC_ACCOUNT_PORT: '0' })
    await assert.rejects(serveAccount(second, LOG), (error) => {
      assert(error instanceof StartError)
      assert.equal(error.exit, EXIT.stateInUse)
      assert(error.message.includes(stateDir))
      return true
    })
    await server.close()
    await (await serveAccount(second, LOG)).close()
  })

  test('keeps accounts over a restart', async (t) => {
    const stateDir = freshFolder(t)
    const first = await startAccountServer(t, { SVC_STATE_DIR: stateDir })
    const { credentials } = await signIn(first, 'ada@example.org')
    await first.close()
    const again = await startAccountServer(t, { SVC_STATE_DIR: stateDir })
    assert.equal((await askProven(again, 'GET', '/api/v1/context', credentials)).status, 200)
  })

  test('a taken port leaves the state folder unlocked', async (t) => {
    const { address } = await startAccountServer(t)
    const stateDir = freshFolder(t)
    const taken = readConfig({
      SVC_STATE_DIR: stateDir,
      SVC_ACCOUNT_PORT: new URL(address).port,
    })
    await assert.rejects(serveAccount(taken, LOG), { exit: EXIT.portTaken })
    await startAccountServer(t, { SVC_STATE_DIR: stateDir })
  })

  test('the error for a missing database does not contain its password', async (t) => {
    const config = readConfig({
      SVC_STATE_DIR: freshFolder(t),
      SVC_ACCOUNT_PORT: '0',
      SVC_DATABASE_URL: 'postgres://ada:hunter2@127.0.0.1:1/accounts',
    })
    await assert.rejects(serveAccount(config, LOG), (error) => {
      assert(error instanceof StartError)
      assert.match(error.message, /127\.0\.0\.1:1\/accounts.*ECONNREFUSED/)
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    })
  })

  test('reports at the start that mail cannot be written', async (t) => {
    const stateDir = freshFolder(t)
    const file = join(stateDir, 'a file')
    writeFileSync(file, '')
    const config = readConfig({
      SVC_STATE_DIR: stateDir,
      SVC_ACCOUNT_PORT: '0',
      SVC_MAIL_DIR: join(file, 'mail'),
    })
    await assert.rejects(serveAccount(config, LOG), {
      exit: EXIT.configuration,
      message: /a file.mail \(ENOTDIR\)\. Set SVC_MAIL_DIR to a folder/,
    })
    await startAccountServer(t, { SVC_STATE_DIR: stateDir })
  })

  test('behind a proxy it accepts its public name, and only that name if it is not on loopback', async (t) => {
    const server = await startAccountServer(t, { SVC_PUBLIC_URL: 'https://sign.example' })
    const { port } = new URL(server.address)
    const statusFor = async (Host: string) =>
      (await ask(server.address, 'GET', '/health', { headers: { Host } })).status
    assert.deepEqual(
      await Promise.all(
        [`127.0.0.1:${port}`, `localhost:${port}`, 'sign.example', 'evil.example'].map(statusFor),
      ),
      [200, 200, 200, 403],
    )
    const { json } = await server.request('GET', '/device/v1/clock')
    assert.equal((json as { public_url: string }).public_url, 'https://sign.example')
    assert.deepEqual(
      [...hostsOf('0.0.0.0', 19822, 'https://sign.example')],
      [['sign.example', 'https://sign.example']],
    )
    assert.deepEqual(
      [...hostsOf('::1', 80)],
      [
        ['[::1]:80', 'http://[::1]'],
        ['[::1]', 'http://[::1]'],
        ['localhost:80', 'http://[::1]'],
        ['localhost', 'http://[::1]'],
      ],
    )
  })

  test('a stop ends the streams of devices, and does not cut them off', async (t) => {
    const server = await startAccountServer(t)
    const { credentials } = await signIn(server, 'ada@example.org')
    const { method, path } = signedIn.hints.follow
    const read = signedIn.changes.read
    const { headers } = await askProven(server, read.method, read.path, credentials)
    const nonce = headers['dpop-nonce'] as string
    const answer = await fetch(server.address + path, {
      headers: await proven(server, method, path, credentials, { nonce }),
    })
    assert.deepEqual(
      [answer.status, answer.headers.get('content-type')],
      [200, 'text/event-stream'],
    )
    const text = answer.text()
    await server.close()
    assert.equal(await text, 'event: open\ndata: {}\n\n')
  })

  test('the command prints the address as JSON, and ends with SIGTERM', async (t) => {
    const stateDir = freshFolder(t)
    const written: string[] = []
    const { promise: listening, resolve: started } = Promise.withResolvers<void>()
    const io = {
      stdout: { write: (text: string) => written.push(text) },
      stderr: { write: () => undefined },
      stdin: (async function* () {})(),
      env: {},
    }
    const config = () => readConfig({ SVC_STATE_DIR: stateDir, SVC_ACCOUNT_PORT: '0' })
    const ended = serverCommand.run({
      options: {},
      args: [],
      io,
      config,
      json: true,
      started,
    } as unknown as Parameters<typeof serverCommand.run>[0])
    await listening
    const { account_address: address } = JSON.parse(written.join('')) as { account_address: string }
    assert.equal((await ask(address, 'GET', '/health')).status, 200)
    process.emit('SIGTERM')
    await ended
    await assert.rejects(ask(address, 'GET', '/health'))
    assert(existsSync(join(stateDir, 'account.db')))
  })
})
