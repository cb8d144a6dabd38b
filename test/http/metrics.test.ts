/** How the metrics of a stand-alone account server are read. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { EXIT, StartError } from '../../src/errors.ts'
import { readConfig } from '../../src/config/config.ts'
import { signIn, startAccountServer, askProven, type TestServer } from '../account-server.ts'
import { type Question, ask, startDaemon } from '../daemon.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { samplesIn, valueOf } from '../metrics/samples.ts'

const TOKEN = 'a-token-of-32-characters-for-test'

/** Returns a file with a token, in a folder of its own. */
function tokenFile(t: TestContext, text = `${TOKEN}\n`): string {
  const file = join(freshFolder(t), 'token')
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

const metricsAddress = ({ log }: TestServer): string => {
  const line = log.find((one) => one.includes('listening for metrics')) ?? '{}'
  return new URL((JSON.parse(line) as { address: string }).address).origin
}

test('without a setting there are none', async (t) => {
  const server = await startAccountServer(t)
  const { credentials } = await signIn(server, 'ada@example.org')
  assert.equal((await server.request('GET', '/metrics')).status, 401)
  assert.equal((await askProven(server, 'GET', '/metrics', credentials)).status, 404)
})

test('with a token they are at the port of the account server', async (t) => {
  const server = await startAccountServer(t, { SVC_METRICS_TOKEN_FILE: tokenFile(t) })
  const { credentials } = await signIn(server, 'ada@example.org')
  const { status, text } = await server.request('GET', '/metrics', { token: TOKEN })
  assert.equal(status, 200)
  const labels = { listener: 'account', method: 'POST', status: '201' }
  assert(valueOf(text, 'countersign_http_requests_total', labels) > 0)
  assert(valueOf(text, 'countersign_mails_total', { result: 'sent' }) > 0)
  assert(valueOf(text, 'countersign_database_query_duration_seconds_count') > 0)
  assert.equal(valueOf(text, 'countersign_dependency_up', { service: 'database' }), 1)
  assert(!text.includes('example.org'))

  const refused: [Question, string | undefined][] = [
    [{}, 'Bearer'],
    [{ token: `${TOKEN}x` }, 'Bearer error="invalid_token"'],
    [{ token: TOKEN.slice(0, -1) }, 'Bearer error="invalid_token"'],
    [{ token: 'csm_00000000000000000000000000000000' }, 'Bearer error="invalid_token"'],
    [{ headers: { Authorization: `DPoP ${TOKEN}` } }, 'Bearer error="invalid_token"'],
    [{ headers: { Authorization: `Basic ${btoa(`x:${TOKEN}`)}` } }, 'Bearer'],
  ]
  for (const [question, challenge] of refused)
    for (const method of ['GET', 'HEAD']) {
      const answer = await server.request(method, '/metrics', question)
      assert.deepEqual([answer.status, answer.headers['www-authenticate']], [401, challenge])
    }
  // The session of a device opens everything else, and the token nothing else.
  assert.equal((await askProven(server, 'GET', '/metrics', credentials)).status, 401)
  assert.equal((await server.request('GET', '/api/v1/tags', { token: TOKEN })).status, 401)
  assert.equal((await server.request('GET', '/metrics/x', { token: TOKEN })).status, 401)
  assert.equal((await server.request('POST', '/metrics', { token: TOKEN })).status, 405)
})

test('with a port they are at a listener of their own on loopback', async (t) => {
  const server = await startAccountServer(t, { SVC_METRICS_PORT: '0' })
  const own = metricsAddress(server)
  assert.equal(new URL(own).hostname, '127.0.0.1')
  const { status, text } = await ask(own, 'GET', '/metrics')
  assert.equal(status, 200)
  assert(samplesIn(text).length > 0)
  assert.equal((await server.request('GET', '/metrics')).status, 401)
  for (const path of ['/', '/health', '/device/v1/clock', '/metrics/'])
    assert.equal((await ask(own, 'GET', path)).status, 404)
  const hostile = [{ Host: 'evil.example' }, { Origin: 'https://evil.example' }]
  for (const headers of hostile)
    assert.equal((await ask(own, 'GET', '/metrics', { headers })).status, 403)
})

test('with both, the listener of their own needs the token', async (t) => {
  const env = { SVC_METRICS_PORT: '0', SVC_METRICS_TOKEN_FILE: tokenFile(t) }
  const server = await startAccountServer(t, env)
  const own = metricsAddress(server)
  assert.equal((await ask(own, 'GET', '/metrics')).status, 401)
  assert.equal((await ask(own, 'GET', '/metrics', { token: TOKEN })).status, 200)
  assert.equal((await server.request('GET', '/metrics', { token: TOKEN })).status, 401)
})

test('a daemon does not use the settings, and warns', async (t) => {
  const daemon = await startDaemon({ SVC_METRICS_PORT: '0', SVC_METRICS_TOKEN_FILE: tokenFile(t) })
  t.after(() => daemon.close())
  assert(daemon.log.some((line) => line.includes('SVC_METRICS_PORT') && line.includes('"warn"')))
  assert.equal((await ask(daemon.accountAddress, 'GET', '/metrics', { token: TOKEN })).status, 401)
})

test('a wrong setting names its fault, and never the token', (t) => {
  const env = (value: string) => ({ HOME: '/home/ada', SVC_METRICS_TOKEN_FILE: value })
  const wrong = [
    [TOKEN, /absolute path/],
    ['/nonexistent/token', /cannot be read \(ENOENT\)/],
    [tokenFile(t, 'too-short'), /must hold one token of 16/],
    [tokenFile(t, `${TOKEN} ${TOKEN}`), /must hold one token/],
    [tokenFile(t, ''), /must hold one token/],
  ] as const
  for (const [value, message] of wrong) {
    assert.throws(
      () => readConfig(env(value)),
      (error) => {
        assert(error instanceof StartError)
        assert.match(error.message, message)
        assert(!error.message.includes(TOKEN) && !error.message.includes('too-short'))
        return error.exit === EXIT.configuration
      },
    )
  }
})
