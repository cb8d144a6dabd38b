/**
 * `countersignd mcp`: the tools of the running daemon over standard input and output, also across
 * restarts of that daemon.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { type TestContext, describe, it } from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { rest } from '../../src/api/rest/index.ts'
import { EXIT } from '../../src/errors.ts'
import { toolsOf } from '../../src/api/tools/tool.ts'
import { PROGRAM, countersignd, environment } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { daemonAt } from './daemon-at.ts'
import { VERSIONS, type Version, connected, overStdio } from './connected.ts'
import { firstSdkOverStdio } from './first-sdk.ts'

/** Connects a client of `countersignd mcp` over a state folder. */
const clientOf = (
  t: TestContext,
  stateDir: string,
  args: readonly string[] = [],
  { version, env = {} }: { version?: Version; env?: NodeJS.ProcessEnv } = {},
): Promise<Client> => connected(t, overStdio(stateDir, args, env), version)

type ToolResult = Readonly<Record<string, unknown>> & { readonly message: string }

/** Calls a tool; returns its result, and whether it is an error. */
async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { isError = false, structuredContent } = await client.callTool({ name, arguments: args })
  return { isError, result: structuredContent as ToolResult }
}

describe('countersignd mcp', () => {
  for (const version of VERSIONS)
    it(`${version}: lists all tools, and each answers like the daemon`, async (t) => {
      const dir = freshFolder(t)
      const daemon = await daemonAt(t, dir)
      const client = await clientOf(t, dir, [], { version })
      assert.equal(client.getNegotiatedProtocolVersion(), version)
      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map(({ name }) => name),
        toolsOf(rest).map(({ name }) => name),
      )
      const { result } = await call(client, 'guest_codes_create', { label: 'Ann' })
      const token = await daemon.token('read')
      const { json } = await daemon.request('GET', '/api/v1/guest-codes', { token })
      assert.deepEqual((await call(client, 'guest_codes_list')).result, json)
      const { content } = await client.callTool({
        name: 'guest_codes_qr',
        arguments: { id: result['id'], format: 'gif' },
      })
      const [{ type, mimeType }] = content as unknown as [Record<string, unknown>]
      assert.deepEqual([type, mimeType], ['image', 'image/gif'])
      const chat = await call(client, 'chat_turn', { message: 'stamp' })
      assert.equal(typeof chat.result['answer'], 'string')
    })

  it('continues after the daemon was stopped and started again', async (t) => {
    const dir = freshFolder(t)
    const first = await daemonAt(t, dir)
    const client = await clientOf(t, dir)
    assert.equal((await call(client, 'tags_create', { name: 'Bank' })).isError, false)
    await first.stop()
    for (let times = 0; times < 2; times++) {
      const { isError, result } = await call(client, 'tags_list')
      assert.deepEqual([isError, result['error']], [true, 'backend_unavailable'])
      assert.match(result.message, /Start it with "countersignd serve"/)
    }
    assert.equal((await client.listTools()).tools.length, toolsOf(rest).length)
    const second = await daemonAt(t, dir)
    assert.notEqual(second.address, first.address)
    const { result } = await call(client, 'tags_list')
    assert.equal((result['items'] as { name: string }[])[0]?.name, 'Bank')
  })

  it('without a daemon it reports that, and leaves nothing behind', async (t) => {
    const dir = freshFolder(t)
    const client = await clientOf(t, dir)
    const { isError, result } = await call(client, 'status_read')
    assert.deepEqual([isError, /countersignd serve/.test(result.message)], [true, true])
    assert.deepEqual(readdirSync(dir), [])
    // The folder’s lock is free, too.
    const { code, stderr } = await countersignd(['status'], dir)
    assert.equal(code, EXIT.noDaemon, stderr)
  })

  it('uses SVC_TOKEN within its scope', async (t) => {
    const dir = freshFolder(t)
    const daemon = await daemonAt(t, dir)
    const env = { SVC_TOKEN: await daemon.token('read') }
    const client = await clientOf(t, dir, ['--scope', 'full'], { env })
    assert.equal((await call(client, 'tags_list')).isError, false)
    const { isError, result } = await call(client, 'tags_create', { name: 'x' })
    assert.deepEqual([isError, result['error']], [true, 'insufficient_scope'])
  })

  it('an unknown scope is wrong usage', async (t) => {
    const { code, stdout, stderr } = await countersignd(['mcp', '--scope', 'all'], freshFolder(t))
    assert.deepEqual([code, stdout], [EXIT.usage, ''])
    assert.match(stderr, /--scope: "all" is not read, write or full/)
  })

  const scopes: [args: string[], tool: string, refused: boolean][] = [
    [['--scope', 'read'], 'tags_create', true],
    [[], 'api_tokens_list', true],
    [['--scope', 'full'], 'api_tokens_list', false],
  ]
  for (const [args, tool, refused] of scopes)
    it(`${args.join(' ') || 'no scope'}: ${tool} is ${refused ? 'rejected' : 'done'}`, async (t) => {
      const dir = freshFolder(t)
      await daemonAt(t, dir)
      const given = tool === 'tags_create' ? { name: 'x' } : {}
      const { isError, result } = await call(await clientOf(t, dir, args), tool, given)
      assert.equal(result['error'], refused ? 'insufficient_scope' : undefined)
      assert.equal(isError, refused)
    })
})

it('the client of the first SDK lists and calls tools of countersignd mcp', async (t) => {
  const dir = freshFolder(t)
  await daemonAt(t, dir)
  const env = environment(dir) as Record<string, string>
  const client = await firstSdkOverStdio(t, [PROGRAM, 'mcp', '--tools', 'all'], env)
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    toolsOf(rest).map(({ name }) => name),
  )
  assert.match(JSON.stringify(await client.callTool({ name: 'status_read' })), /cached_connections/)
})
