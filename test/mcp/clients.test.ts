/**
 * The official client in each version of the protocol, and the client of the first SDK, at both
 * paths: they list tools and call them.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import { toolsOf } from '../../src/api/tools/tool.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { newMachine } from '../handlers/people.ts'
import { PATHS, VERSIONS, connected, overHttp } from './connected.ts'
import { firstSdkOverHttp } from './first-sdk.ts'

const NAMES = toolsOf(rest).map(({ name }) => name)

let daemon: TestDaemon
before(async () => {
  daemon = await startDaemon()
})
after(() => daemon.close())

for (const path of PATHS)
  for (const version of VERSIONS)
    describe(`${version} at ${path}`, () => {
      it('lists every tool, and calls some', async (t) => {
        const token = await daemon.token('write')
        const client = await connected(t, overHttp(daemon.address, path, token), version)
        assert.equal(client.getNegotiatedProtocolVersion(), version)
        assert.equal(client.getServerVersion()?.name, 'countersign')
        const named = client.getInstructions()?.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []
        assert(named.length > 0 && named.every((name) => NAMES.includes(name)), named.join())
        const { tools } = await client.listTools()
        assert.deepEqual(
          tools.map(({ name }) => name),
          NAMES,
        )
        const made = await client.callTool({
          name: 'tags_create',
          arguments: { name: `${version} ${path}` },
        })
        assert.equal(made.isError, undefined)
        const { id } = made.structuredContent as { id: string }
        const { json } = await daemon.request('GET', '/api/v1/tags', { token })
        assert((json as { items: { id: string }[] }).items.some((tag) => tag.id === id))
        const listed = await client.callTool({ name: 'tags_list', arguments: {} })
        assert.deepEqual(listed.structuredContent, json)
        assert.deepEqual(listed.content, [{ type: 'text', text: JSON.stringify(json) }])
        const removed = await client.callTool({ name: 'tags_delete', arguments: { id } })
        assert.deepEqual([removed.isError, removed.structuredContent], [undefined, {}])
      })

      it('without a token: 401', async (t) => {
        await assert.rejects(
          connected(t, overHttp(daemon.address, path), version),
          /401|unauthorized/i,
        )
      })

      const scopes: [scope: 'read' | 'write' | 'full', tool: string, required: string | null][] = [
        ['read', 'tags_create', 'write or full'],
        ['read', 'org_members_list', 'full'],
        ['write', 'org_members_list', 'full'],
        ['write', 'api_tokens_list', 'full'],
        ['write', 'status_read', null],
        ['full', 'api_tokens_list', null],
      ]
      for (const [scope, tool, required] of scopes)
        it(`a ${scope} token at ${tool}: ${required === null ? 'done' : 'insufficient_scope'}`, async (t) => {
          const token = await daemon.token(scope)
          const client = await connected(t, overHttp(daemon.address, path, token), version)
          const args = tool === 'tags_create' ? { name: 'x' } : {}
          const result = await client.callTool({ name: tool, arguments: args })
          const { error, required_scope } = result.structuredContent as Record<string, unknown>
          assert.deepEqual(
            [result.isError, error, required_scope],
            required === null
              ? [undefined, undefined, undefined]
              : [true, 'insufficient_scope', required],
          )
          if (required !== null) assert.match(JSON.stringify(result.content), /Use a token with/)
        })
    })

describe('a machine account', () => {
  it('has its own account, and tools that need a device return an error in the result', async (t) => {
    const machine = await newMachine(daemon)
    const token = await machine.token('write')
    const client = await connected(t, overHttp(daemon.address, '/mcp', token))
    const context = await client.callTool({ name: 'context_read', arguments: {} })
    const { user } = context.structuredContent as { user: { kind: string } }
    assert.equal(user.kind, 'machine')
    const sync = await client.callTool({ name: 'sync_run', arguments: {} })
    assert.deepEqual(
      [sync.isError, (sync.structuredContent as { error: string }).error],
      [true, 'no_device'],
    )
  })
})

describe('no token', () => {
  for (const path of PATHS)
    it(`${path}: 401 with the accepted scheme`, async () => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      const { status, headers, json } = await daemon.request('POST', path, { body })
      assert.deepEqual(
        [status, headers['www-authenticate'], (json as { error: string }).error],
        [401, 'Bearer', 'unauthorized'],
      )
    })
})

describe('the client of the first SDK', () => {
  for (const path of PATHS)
    it(`lists and calls tools at ${path}`, async (t) => {
      const token = await daemon.token('read')
      const client = await firstSdkOverHttp(t, new URL(path, daemon.address), token)
      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map(({ name }) => name),
        NAMES,
      )
      const called = await client.callTool({ name: 'status_read' })
      assert.match(JSON.stringify(called), /cached_connections/)
    })
})
