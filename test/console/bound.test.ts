/** Tests tokens of consoles: a stolen one is worth nothing, and a console ends when it should. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { globalAgent, type IncomingMessage, request } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { type Answer, type TestDaemon, startDaemon } from '../daemon.ts'
import { freePort } from '../free-port.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { newPage, ownHeaders, type Page, SESSION } from './page.ts'

const STATUS = '/api/v1/status'

let daemon: TestDaemon
before(async () => (daemon = await startDaemon()))
after(() => daemon.close())

const errorIn = ({ json }: Answer) => (json as { error?: string } | undefined)?.error
const challengeIn = ({ headers }: Answer) => headers['www-authenticate'] ?? ''

/** Sends a request with exactly this proof, without the page's own. */
const sendWith = (method: string, path: string, token: string, proof: string) =>
  daemon.request(method, path, {
    headers: { ...ownHeaders(daemon.address), Authorization: `DPoP ${token}`, DPoP: proof },
  })

function refused(answer: Answer, challenge: RegExp): void {
  assert.deepEqual([answer.status, errorIn(answer)], [401, 'invalid_token'])
  assert.match(challengeIn(answer), challenge)
}

/** Opens the stream of events of a console. */
async function eventsFor(at: TestDaemon, page: Page, token: string): Promise<IncomingMessage> {
  const { hostname, port } = new URL(at.address)
  const path = '/api/v1/events'
  await page.send('GET', STATUS)
  const stream = request({
    hostname,
    port,
    path,
    headers: {
      ...ownHeaders(at.address),
      Accept: 'text/event-stream',
      Authorization: `DPoP ${token}`,
      DPoP: await page.proof('GET', path, token),
    },
  })
  stream.end()
  const [answer] = (await once(stream, 'response')) as [IncomingMessage]
  assert.equal(answer.statusCode, 200)
  return answer
}

describe('a console’s token', () => {
  it('is unknown as a bearer token, with and without a proof', async () => {
    const page = newPage(daemon)
    const { token } = await page.open('full')
    const unknown = await daemon.request('GET', STATUS, { token: `csd_${'0'.repeat(36)}` })
    const bearers = [
      await daemon.request('GET', STATUS, { token }),
      await daemon.request('GET', STATUS, {
        token,
        headers: { DPoP: await page.proof('GET', STATUS, token) },
      }),
    ]
    for (const answer of bearers) {
      assert.deepEqual(answer.json, unknown.json)
      assert.equal(challengeIn(answer), challengeIn(unknown))
    }
  })

  it('is worth nothing with another key', async () => {
    const { token } = await newPage(daemon).open()
    const thief = newPage(daemon)
    refused(await thief.send('GET', STATUS, { token }), /^DPoP error="invalid_token"/)
  })

  it('needs a proof', async () => {
    const page = newPage(daemon)
    const { token } = await page.open()
    const answer = await daemon.request('GET', STATUS, {
      headers: { Authorization: `DPoP ${token}` },
    })
    refused(answer, /use_dpop_nonce/)
    assert.match(answer.headers['dpop-nonce'] as string, /^[\w-]{22}$/)
  })

  const wrong: [name: string, proof: (page: Page, token: string) => Promise<string>][] = [
    ['of another method', (page, token) => page.proof('POST', STATUS, token)],
    ['of another path', (page, token) => page.proof('GET', '/api/v1/tags', token)],
    ['of another token', (page) => page.proof('GET', STATUS, `csd_${'0'.repeat(36)}`)],
    ['of no token', (page) => page.proof('GET', STATUS)],
  ]
  for (const [name, make] of wrong)
    it(`rejects the proof ${name}`, async () => {
      const page = newPage(daemon)
      const { token } = await page.open()
      const proof = await make(page, token)
      refused(await sendWith('GET', STATUS, token, proof), /invalid_dpop_proof/)
    })

  it('accepts a proof once', async () => {
    const page = newPage(daemon)
    const { token } = await page.open()
    const proof = await page.proof('GET', STATUS, token)
    assert.equal((await sendWith('GET', STATUS, token, proof)).status, 200)
    refused(await sendWith('GET', STATUS, token, proof), /invalid_dpop_proof/)
  })

  it('accepts a proof once from two requests at the same time', async () => {
    const page = newPage(daemon)
    const { token } = await page.open()
    const proof = await page.proof('GET', STATUS, token)
    const both = await Promise.all([1, 2].map(() => sendWith('GET', STATUS, token, proof)))
    assert.deepEqual(new Set(both.map(({ status }) => status)), new Set([200, 401]))
  })

  it('calls tools with the proof of the outer request', async () => {
    const page = newPage(daemon)
    await page.open()
    const { status } = await page.send('POST', '/tools/status_read', { body: {} })
    assert.equal(status, 200)
  })

  it('ends itself, and only a console does', async () => {
    const page = newPage(daemon)
    const { id } = await page.open('read')
    assert.equal((await page.send('DELETE', SESSION)).status, 204)
    refused(await page.send('GET', STATUS), /^DPoP error="invalid_token"/)
    const { json } = await daemon.request('GET', '/api/v1/api-tokens', { token: daemon.owner() })
    const { items } = json as { items: { id: string; state: string }[] }
    assert.equal(items.find((one) => one.id === id)?.state, 'revoked')
    const answer = await daemon.request('DELETE', SESSION, {
      token: await daemon.token('full'),
      headers: ownHeaders(daemon.address),
    })
    assert.deepEqual([answer.status, errorIn(answer)], [403, 'forbidden'])
  })

  it('is refused from the next request on after it was revoked, and its events end', async () => {
    const page = newPage(daemon)
    const { id, token } = await page.open()
    const answer = await eventsFor(daemon, page, token)
    answer.resume()
    const ended = once(answer, 'end')
    await daemon.request('DELETE', `/api/v1/api-tokens/${id}`, { token: daemon.owner() })
    refused(await page.send('GET', STATUS), /^DPoP error="invalid_token"/)
    await ended
  })
})

it('events of organisations end with the scope full', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
  const timed = await startDaemon()
  t.after(() => timed.close())
  const page = newPage(timed)
  const { token } = await page.open('full')
  const answer = await eventsFor(timed, page, token)
  const owner = timed.owner()
  const send = async (method: string, path: string, body?: object) => {
    const { status, json, text } = await timed.request(method, path, { token: owner, body })
    assert(status < 300, text)
    return json
  }
  await send('POST', '/api/v1/sync')
  const { since } = (await send('GET', '/api/v1/events?wait=0')) as { since: string }
  t.mock.timers.setTime(Date.now() + 16 * 60_000)
  await send('POST', '/api/v1/org', { name: 'Acme' })
  const joined = await send('GET', `/api/v1/events?types=org.joined&since=${since}&wait=60`)
  assert.equal((joined as { items: unknown[] }).items.length, 1)
  await send('POST', '/api/v1/api-tokens', { name: 'later', scope: 'read' })
  let read = ''
  for await (const chunk of answer) {
    read += String(chunk)
    if (read.includes('token.created')) break
  }
  assert(!read.includes('org.joined'), read)
})

it('an unbound token is rejected with a proof', async () => {
  const page = newPage(daemon)
  const token = await daemon.token('write')
  refused(await page.send('GET', STATUS, { token }), /^DPoP error="invalid_token"/)
  refused(await page.send('GET', STATUS, { token: daemon.owner() }), /^DPoP error="invalid_token"/)
})

/** Closes a daemon, and starts it again with other settings. */
async function restarted(first: TestDaemon, env: Record<string, string>): Promise<TestDaemon> {
  await first.close()
  // Otherwise the next request is sent on a connection that the first daemon closed.
  globalAgent.destroy()
  return startDaemon(env)
}

it('a console outlives a restart of the daemon, but no proof does', async (t) => {
  const env = { SVC_STATE_DIR: freshFolder(t), SVC_HTTP_PORT: String(await freePort()) }
  const first = await startDaemon(env)
  const page = newPage(first)
  const { token } = await page.open()
  const proof = await page.proof('GET', STATUS, token)
  const second = await restarted(first, env)
  try {
    const headers = { ...ownHeaders(second.address), Authorization: `DPoP ${token}`, DPoP: proof }
    refused(await second.request('GET', STATUS, { headers }), /use_dpop_nonce/)
    const again = newPage(second, page.key)
    assert.equal((await again.send('GET', STATUS, { token })).status, 200)
  } finally {
    await second.close()
  }
})

it('SVC_CONSOLE=off takes the console away, and ends the open ones', async (t) => {
  const env = { SVC_STATE_DIR: freshFolder(t), SVC_HTTP_PORT: String(await freePort()) }
  const first = await startDaemon(env)
  const page = newPage(first)
  const { token } = await page.open()
  const second = await restarted(first, { ...env, SVC_CONSOLE: 'off' })
  try {
    const again = newPage(second, page.key)
    const { status, headers } = await again.send('GET', STATUS, { token })
    assert.deepEqual([status, headers['dpop-nonce']], [401, undefined])
    const paths: [method: string, path: string][] = [
      ['POST', '/console/v1/codes'],
      ['GET', '/console/index.html'],
      ['GET', '/console/v1'],
    ]
    for (const [method, path] of paths) {
      const answer = await second.request(method, path, method === 'POST' ? { body: {} } : {})
      assert.notEqual(answer.status, 200)
      assert(['no_such_route', 'unauthorized'].includes(errorIn(answer) ?? ''), path)
    }
    const home = await second.request('GET', '/', { headers: { Accept: 'text/html' } })
    assert(!home.text.includes('countersignd open'))
  } finally {
    await second.close()
  }
})

it('a planted service worker ends every console and code', async () => {
  const page = newPage(daemon)
  await page.open()
  const { json } = await daemon.request('POST', '/console/v1/codes', { body: {} })
  const { code } = json as { code: string }
  const bearer = await daemon.token('read')
  const headers = { 'Service-Worker': 'script', 'Sec-Fetch-Site': 'same-origin' }
  const answer = await daemon.request('GET', '/sw.js', { headers })
  assert.deepEqual([answer.status, errorIn(answer)], [403, 'origin_not_allowed'])
  assert.equal(answer.headers['clear-site-data'], '"storage"')
  refused(await page.send('GET', STATUS), /^DPoP error="invalid_token"/)
  const exchanged = await newPage(daemon).send('POST', SESSION, { body: { code } })
  assert.equal(exchanged.status, 403)
  assert.equal((await daemon.request('GET', STATUS, { token: bearer })).status, 200)
  const warnings = () => daemon.log.filter((line) => line.includes('service worker'))
  assert.equal(warnings().length, 1)
  assert.match(warnings()[0] ?? '', /"level":"warn".*countersignd open/)
  await daemon.request('GET', '/sw.js', { headers })
  assert.equal(warnings().length, 1)
  // A request for another Host is not from a page of this daemon.
  const other = newPage(daemon)
  await other.open()
  await daemon.request('GET', '/sw.js', { headers: { ...headers, Host: 'evil.example' } })
  assert.equal((await other.send('GET', STATUS)).status, 200)
})

it('a console that was just opened may delete the account', async (t) => {
  const own = await startDaemon()
  t.after(() => own.close())
  const page = newPage(own)
  await page.open('full')
  assert.equal((await page.send('DELETE', '/api/v1/account')).status, 204)
  refused(await page.send('GET', STATUS), /^DPoP error="invalid_token"/)
})
