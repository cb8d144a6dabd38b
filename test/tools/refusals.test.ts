/**
 * Rejected calls of a tool: the same error as its route, with the name of the faulty argument.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Tool, ToolName } from '../../src/api/tools/tool.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { activeOrganisation } from '../handlers/people.ts'
import { exchange, hostOf } from '../http/raw.ts'
import { type Caller, type Json, TOOLS, inPath, newCaller } from './calling.ts'

const NO_SUCH = `con_${'0'.repeat(26)}`
const nowhere = (tool: Tool): Json =>
  Object.fromEntries(inPath(tool).map((name) => [name, NO_SUCH]))

let daemon: TestDaemon
let caller: Caller
let token: string
before(async () => {
  daemon = await startDaemon()
  token = await daemon.token('full')
  caller = newCaller(daemon, token)
})
after(() => daemon.close())

describe('refusals', () => {
  it('org tools without an active organisation return the error of their routes', async () => {
    for (const tool of TOOLS.filter(({ name }) => /^org_.*(list|summary|dashboard)$/.test(name))) {
      const [ours, theirs] = [await caller.call(tool.name, {}), await caller.routed(tool, {})]
      assert.deepEqual([ours.status, ours.json], [409, theirs.json], tool.name)
    }
  })

  it('every tool with an id in its path returns the error of its route for an unknown id', async () => {
    await activeOrganisation(daemon)
    const withId = TOOLS.filter((tool) => inPath(tool).length > 0)
    assert(withId.length > 40)
    for (const tool of withId) {
      const args = nowhere(tool)
      const [ours, theirs] = [await caller.call(tool.name, args), await caller.routed(tool, args)]
      assert(theirs.status >= 400, tool.name)
      assert.deepEqual([ours.status, ours.json], [theirs.status, theirs.json], tool.name)
    }
  })

  const off: [tool: ToolName, args: unknown, names: string][] = [
    ['tags_create', {}, 'name'],
    ['tags_create', { name: 7 }, 'name'],
    ['tags_create', { name: 'A', colour: '#ffffff' }, 'colour'],
    ['tags_create', { name: 'A', body: {} }, 'body'],
    ['tags_create', { body: { name: 'A' } }, 'name'],
    ['tags_list', { limit: 0 }, 'limit'],
    ['tags_list', { limit: 'many' }, 'limit'],
    ['tags_list', { limit: [1, 2] }, 'limit'],
    ['tags_list', { limit: null }, 'limit'],
    ['tags_list', { limit: { at: 1 } }, 'limit'],
    ['tags_list', { page: 2 }, 'page'],
    ['tags_list', { body: {} }, 'body'],
    ['tags_list', { body: 'x' }, 'body'],
    ['status_read', { verbose: true }, 'verbose'],
    ['connections_read', {}, 'id'],
    ['connections_read', { id: '' }, 'id'],
    ['connections_read', { id: 5 }, 'id'],
    ['connections_read', { id: null }, 'id'],
    ['connections_read', { id: ['con_1'] }, 'id'],
    ['connections_read', { id: NO_SUCH, name: 'x' }, 'name'],
    ['connections_delete', { id: NO_SUCH, force: true }, 'force'],
    ['tags_assign', { id: NO_SUCH }, 'cid'],
    ['tags_assign', { id: NO_SUCH, cid: {} }, 'cid'],
    ['verify_words', {}, 'words'],
    ['stamp_create', { sha256: 'x' }, 'sha256'],
    ['org_groups_add_members', { id: NO_SUCH, member_ids: [] }, 'member_ids'],
    ['org_analytics_trends', { metric: 'nothing' }, 'metric'],
    ['notifications_delete', { id: [] }, 'id'],
    ['notifications_delete', { id: [NO_SUCH] }, 'id.0'],
    ['notifications_delete', { id: [{}] }, 'id'],
    ['guest_codes_qr', { id: NO_SUCH, format: 'png' }, 'format'],
  ]
  for (const [tool, args, names] of off)
    it(`${tool} with ${JSON.stringify(args)}: 422, naming ${names}`, async () => {
      const { status, json } = await caller.call(tool, args)
      const { error, issues } = json as {
        error: string
        issues: { path: string; message: string }[]
      }
      assert.deepEqual([status, error], [422, 'validation_failed'])
      assert(
        issues.some(({ path }) => path === names),
        JSON.stringify(issues),
      )
      assert(issues.every(({ message }) => message.length > 5))
    })

  const together: [tool: ToolName, args: object, told: RegExp][] = [
    ['stamp_create', {}, /exactly one of content/],
    ['stamp_create', { content: 'a', content_base64: 'YQ==' }, /exactly one of content/],
    ['members_add', { id: NO_SUCH }, /either "email" or "user_id"/],
    [
      'members_add',
      { id: NO_SUCH, email: 'a@example.org', user_id: NO_SUCH },
      /either "email" or "user_id"/,
    ],
    ['trust_cards_create', { note: 'n' }, /either "email" or "user_id"/],
  ]
  for (const [tool, args, expected] of together)
    it(`${tool} with ${Object.keys(args).join(', ') || 'nothing'}: 422 that names the fields that belong together`, async () => {
      const { status, json } = await caller.call(tool, args)
      assert.equal(status, 422)
      assert.match((json as { message: string }).message, expected)
    })

  it('the input of a tool is limited, and so is its error', async () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`k${i}`, 0]))
    const [long, longer, tooLong] = [9000, 400_000, 600_000].map((size) => 'x'.repeat(size))
    const cases: [tool: ToolName, args: object, status: number][] = [
      ['tags_list', many, 422],
      ['tags_list', { cursor: long }, 422],
      ['members_remove', { id: longer, mid: longer }, 404],
      // More than 1 MiB together.
      ['members_remove', { id: tooLong, mid: tooLong }, 413],
    ]
    for (const [tool, args, wanted] of cases) {
      const { status, text } = await caller.call(tool, args)
      assert.deepEqual([status, text.length < 600], [wanted, true], tool)
    }
  })

  it('no id turns a tool into another', async () => {
    const id = await caller.idOf('presets_create', { name: 'Usual' })
    await caller.called('presets_set_default', { id })
    for (const [tool, other] of [
      ['presets_delete', 'default'],
      ['presets_update', 'default'],
      ['open_links_delete', 'requests'],
      ['org_members_read', 'bulk-invite'],
    ] as const) {
      const { status, json } = await caller.call(tool, { id: other })
      assert.deepEqual([status, (json as Json)['error']], [404, 'not_found'], tool)
    }
    const { items } = (await caller.called('presets_list')) as { items: Json[] }
    assert.deepEqual(
      items.map((preset) => [preset['id'], preset['is_default']]),
      [[id, true]],
    )
  })

  for (const part of [
    '..',
    '.',
    '../../org/members',
    'a/b',
    '%2e%2e',
    'a?x=1',
    'a#b',
    '\ud800',
    'x'.repeat(5000),
  ])
    it(`an id of ${JSON.stringify(part.slice(0, 20))} is not found, and reaches no other route`, async () => {
      for (const tool of [
        'connections_read',
        'connections_delete',
        'open_links_pause',
        'api_tokens_delete',
      ]) {
        const { status, json } = await caller.call(tool, { id: part })
        const { error } = json as { error: string }
        assert.deepEqual([status, error], [404, 'not_found'], tool)
      }
    })

  for (const name of [
    'nothing',
    'TAGS_LIST',
    'tags',
    '__proto__',
    'constructor',
    'toString',
    'health_read',
    'token_create',
    'account_delete',
    'tools_catalogue',
    'mcp_post',
    'tool_calls_create',
  ])
    it(`there is no tool ${name}`, async () => {
      for (const prefix of ['/api/v1', '']) {
        const { status, json } = await daemon.request('POST', `${prefix}/tools/${name}`, {
          token,
          body: {},
        })
        const { error, message } = json as { error: string; message: string }
        assert.deepEqual([status, error], [404, 'not_found'])
        assert.match(message, /List the tools/)
      }
    })

  it('an argument in the query is rejected, not ignored', async () => {
    const { status, json } = await daemon.request('POST', '/api/v1/tools/tags_list?limit=1', {
      token,
      body: {},
    })
    const { issues } = json as { issues: { path: string }[] }
    assert.deepEqual([status, issues.map(({ path }) => path)], [422, ['limit']])
  })

  it('a list is not a call', async () => {
    const { status, json } = await caller.call('tags_list', [{ limit: 1 }])
    assert.deepEqual([status, (json as Json)['error']], [422, 'validation_failed'])
  })

  it('content is not read without a scope that can stamp it', async () => {
    const reading = await daemon.token('read')
    const cases = [
      ['/tools/stamp_create', 403, 'insufficient_scope'],
      ['/api/v1/tools/stamp_create', 403, 'insufficient_scope'],
      // The called tool is known only after the message is read: up to 1 MiB of it is.
      ['/mcp', 413, 'payload_too_large'],
    ] as const
    for (const [path, status, error] of cases) {
      // The server answers although the body never arrives.
      const [answer = assert.fail()] = await exchange(daemon.address, [
        `POST ${path} HTTP/1.1`,
        `Host: ${hostOf(daemon.address)}`,
        `Authorization: Bearer ${reading}`,
        'Content-Type: application/json',
        'Content-Length: 4000000',
      ])
      assert.deepEqual([answer.status, (JSON.parse(answer.body) as Json)['error']], [status, error])
    }
  })

  it('a call of more than 4 MiB is rejected, and larger content is stamped by its digest', async () => {
    const large = await caller.call('stamp_create', { content: 'a'.repeat(5 * 1024 * 1024) })
    assert.deepEqual([large.status, (large.json as Json)['error']], [413, 'payload_too_large'])
    const some = await caller.call('stamp_create', { content: 'a'.repeat(3 * 1024 * 1024) })
    assert.equal(some.status, 200)
    const digest = (some.json as { sha256: string }).sha256
    assert.equal((await caller.called('stamp_create', { sha256: digest }))['sha256'], digest)
  })
})
