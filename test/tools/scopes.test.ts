/** Access to tools: a caller may call a tool if it may call its route. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { newMachine } from '../handlers/people.ts'
import { type Caller, type Json, TOOLS, inPath, newCaller } from './calling.ts'

const NO_SUCH = `tag_${'0'.repeat(26)}`

let daemon: TestDaemon
let caller: Caller
let write: string
let read: string
before(async () => {
  daemon = await startDaemon()
  caller = newCaller(daemon, await daemon.token('full'))
  write = await daemon.token('write')
  read = await daemon.token('read')
})
after(() => daemon.close())

describe('scopes', () => {
  it('a read token can read by tools and cannot write', async () => {
    assert.equal((await caller.call('tags_list', {}, { token: read })).status, 200)
    const writing = TOOLS.filter((tool) => tool.route.method !== 'GET' && inPath(tool).length === 0)
    assert(writing.length > 25)
    for (const { name } of writing) {
      const { status, json } = await caller.call(name, {}, { token: read })
      const { error, required_scope } = json as { error: string; required_scope: string }
      assert.deepEqual([status, error], [403, 'insufficient_scope'], name)
      assert.match(required_scope, /full/, name)
    }
    const tool = await caller.call('tags_delete', { id: NO_SUCH }, { token: read })
    const route = await daemon.request('DELETE', `/api/v1/tags/${NO_SUCH}`, { token: read })
    assert.equal(tool.status, 403)
    assert.deepEqual(tool.json, route.json)
  })

  it('a write token cannot call tools of organisations and tokens', async () => {
    for (const name of [
      'org_members_list',
      'org_groups_create',
      'org_analytics_dashboard',
      'api_tokens_list',
      'api_tokens_create',
    ]) {
      const { status, json, headers } = await caller.call(name, {}, { token: write })
      assert.deepEqual(
        [status, (json as Json)['error'], (json as Json)['required_scope']],
        [403, 'insufficient_scope', 'full'],
        name,
      )
      assert.match(headers['www-authenticate'] ?? '', /insufficient_scope/)
    }
    assert.equal(
      (await caller.call('tags_create', { name: 'Written' }, { token: write })).status,
      200,
    )
  })

  it('a token names what it may read, and nothing else', async () => {
    const id = await caller.idOf('tags_create', { name: 'Family' })
    await caller.called('api_tokens_create', { name: 'script', scope: 'read' })
    const listed = await caller.call('connections_list', { tag_id: 'family' }, { token: read })
    assert.equal(listed.status, 200, listed.text)
    const refused = await caller.call('tags_delete', { id: 'Family' }, { token: read })
    const byId = await caller.call('tags_delete', { id }, { token: read })
    assert.deepEqual([refused.status, refused.json], [403, byId.json])
    const [known, unknown] = await Promise.all(
      ['script', 'no such token'].map((name) =>
        caller.call('api_tokens_delete', { id: name }, { token: write }),
      ),
    )
    assert.deepEqual([known?.status, known?.json], [403, unknown?.json])
    assert.deepEqual(await caller.called('tags_delete', { id: 'FAMILY' }), {})
    assert.deepEqual(await caller.called('api_tokens_delete', { id: 'script' }), {})
  })

  it('a missing or revoked token is rejected', async () => {
    const none = await daemon.request('POST', '/api/v1/tools/tags_list', { body: {} })
    assert.deepEqual([none.status, (none.json as Json)['error']], [401, 'unauthorized'])
    const { id, token } = await caller.called('api_tokens_create', { name: 'gone', scope: 'read' })
    assert.equal((await caller.call('tags_list', {}, { token: token as string })).status, 200)
    assert.deepEqual(await caller.called('api_tokens_delete', { id }), {})
    assert.equal((await caller.call('tags_list', {}, { token: token as string })).status, 401)
  })

  it('a machine token gets the answers of the routes', async () => {
    const machine = await newMachine(daemon)
    const [reading, writing] = [await machine.token('read'), await machine.token('write')]
    assert.equal((await caller.call('tags_list', {}, { token: reading })).status, 200)
    assert.equal((await caller.call('tags_create', { name: 'm' }, { token: reading })).status, 403)
    assert.equal((await caller.call('tags_create', { name: 'm' }, { token: writing })).status, 200)
    assert.equal((await caller.call('org_members_list', {}, { token: writing })).status, 403)
    const stamp = await caller.call('stamp_create', { content: 'x' }, { token: writing })
    assert.deepEqual([stamp.status, (stamp.json as Json)['error']], [409, 'no_device'])
  })
})
