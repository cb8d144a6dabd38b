/**
 * Tests the address alone, and paths that end with a slash: a user who opens one learns where to
 * go.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ask, startDaemon } from '../daemon.ts'
import { type Listener, LISTENERS, daemon, withDaemon } from './guarding.ts'

withDaemon()

const get = (at: Listener, path: string, headers: Record<string, string> = {}) =>
  ask(daemon[at], 'GET', path, { headers })

const BROWSER = { Accept: 'text/html,*/*;q=0.8' }

describe('the root path', () => {
  it('is a page in a browser if there is no console', async (t) => {
    const without = await startDaemon({ SVC_CONSOLE: 'off' })
    t.after(() => without.close())
    const { status, headers, text } = await ask(without.address, 'GET', '/', { headers: BROWSER })
    assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'])
    assert.match(text, /<a href="\/api\/v1\/docs">/)
    assert.match(text, /countersignd token create/)
  })

  it('is a text for other clients, with working links', async () => {
    const { status, headers, text } = await get('address', '/')
    assert.deepEqual([status, headers['content-type']], [200, 'text/plain; charset=utf-8'])
    assert.match(text, /countersignd open/)
    const [docs = assert.fail()] = /http\S+\/docs/.exec(text) ?? []
    assert.equal((await fetch(docs)).status, 200)
  })

  it('is a page at the account server', async () => {
    const { status, headers, text } = await get('accountAddress', '/')
    assert.deepEqual([status, headers['content-type']], [200, 'text/html; charset=utf-8'])
    assert.match(text, /SVC_BACKEND_URL/)
  })

  for (const at of LISTENERS)
    it(`accepts only GET and HEAD: ${at}`, async () => {
      const { status, headers } = await ask(daemon[at], 'POST', '/', { body: {} })
      assert.deepEqual([status, headers.allow], [405, 'GET, HEAD'])
    })
})

for (const path of ['/api/v1/docs', '/health', '/api/v1/org/members'])
  it(`${path}/ names ${path}`, async () => {
    const { status, json } = await get('address', `${path}/?x=1`)
    const { error, message } = json as { error: string; message: string }
    assert.deepEqual([status, error], [404, 'no_such_route'])
    assert.equal(message, `The path must not end with a slash. Use ${path}.`)
  })

it('an error for a path with a trailing slash does not repeat a token in it', async () => {
  const { token } = (
    await ask(daemon.address, 'POST', '/api/v1/token', { body: { name: 'x', scope: 'read' } })
  ).json as { token: string }
  const { text } = await get('address', `/api/v1/${token}/`)
  assert(!text.includes(token), text)
})
