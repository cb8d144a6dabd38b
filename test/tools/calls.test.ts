/** A call of a tool over HTTP returns the same answer as its route. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ToolName } from '../../src/api/tools/tool.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { activeOrganisation, signIn } from '../handlers/people.ts'
import { type Caller, type Json, TOOLS, newCaller } from './calling.ts'

/** Fields that change from one request to the next, for every caller. */
const PASSING = new Set([
  'last_sync',
  'last_sync_at',
  'last_seen_at',
  'last_used_at',
  'code',
  'public_code',
  'words',
  'valid_from',
  'valid_until',
  'url',
  'slug',
  'expires_at',
])
const lasting = (json: unknown): unknown =>
  JSON.parse(
    JSON.stringify(json ?? null, (key, value: unknown) => (PASSING.has(key) ? null : value)),
  )

let daemon: TestDaemon
/** Uses the account server of the first. */
let other: TestDaemon
let caller: Caller
let token: string
before(async () => {
  daemon = await startDaemon()
  token = await daemon.token('full')
  caller = newCaller(daemon, token)
  other = await startDaemon({ SVC_BACKEND_URL: daemon.accountAddress })
})
after(async () => {
  await other.close()
  await daemon.close()
})

describe('answers', () => {
  /** Returns a value for each path parameter of the tools that read. */
  async function places(): Promise<Record<string, string>> {
    await activeOrganisation(daemon)
    const connection = await caller.idOf('connections_create', { name: 'Bank' })
    const { user } = await caller.called('context_read')
    const own = (user as { id: string }).id
    const external = await caller.idOf('external_members_create', { display_name: 'Ann' })
    await caller.called('tags_assign', {
      id: await caller.idOf('tags_create', { name: 'Seen' }),
      cid: connection,
    })
    await caller.called('presets_create', { name: 'Trade' })
    await caller.called('open_links_create', { title: 'Ask' })
    await caller.called('org_groups_create', { name: 'Board' })
    await caller.called('org_alerts_create', {
      name: 'Many',
      event: 'stamp',
      threshold: 1,
      window_minutes: 1,
    })
    await caller.called('verify_words', { words: 'matador carload recede' })
    const { account_id: bob } = await signIn(other, daemon, 'bob@example.org')
    assert(bob !== null)
    await caller.called('trust_cards_create', { user_id: bob })
    // Leaves nothing for a sync to change meanwhile.
    await caller.called('sync_run')
    return {
      connections: connection,
      'guest-codes': await caller.idOf('guest_codes_create', {
        label: 'Ann',
        external_member_id: external,
      }),
      profiles: own,
      members: own,
      exports: 'exp_01k9zq3v5w8x2y4z6a8b0c2d4e',
      'trust-cards': bob,
    }
  }

  it('every reading tool returns the answer of its route', async () => {
    const ids = await places()
    const reading = TOOLS.filter(({ route }) => route.method === 'GET')
    assert(reading.length > 35)
    const good: string[] = []
    for (const tool of reading) {
      const place = /\/([\w-]+)\/{/.exec(tool.route.path)?.[1]
      const args: Json = {
        ...(place === undefined
          ? {}
          : {
              id:
                ids[place] ??
                assert.fail(`${tool.name} takes an id: add "${place}" to places() in this file`),
            }),
        ...(tool.name === 'org_analytics_trends' ? { metric: 'stamp', bucket: 'week' } : {}),
        ...(tool.name === 'events_follow' ? { wait: 0 } : {}),
      }
      const [ours, theirs] = [await caller.call(tool.name, args), await caller.routed(tool, args)]
      assert.equal(ours.status, theirs.status, `${tool.name}: ${ours.text}`)
      assert.equal(ours.headers['content-type'], theirs.headers['content-type'], tool.name)
      assert.deepEqual(lasting(ours.json), lasting(theirs.json), tool.name)
      if (ours.json === undefined) assert.equal(ours.text, theirs.text, tool.name)
      if (ours.status === 200) good.push(tool.name)
    }
    assert.deepEqual(
      reading.map(({ name }) => name).filter((name) => !good.includes(name)),
      ['exports_download'],
    )
  })

  it('a tool never reads an endless stream', async () => {
    const { items } = await caller.called('events_follow', { types: 'token.*' })
    assert.deepEqual(items, [])
  })

  it('data written by tools is read at the routes, and a row without an answer returns {}', async () => {
    const tag = await caller.called('tags_create', { name: 'Suppliers', color: '#2453b8' })
    const listed = async () => {
      const { json } = await daemon.request('GET', '/api/v1/tags', { token })
      return (json as { items: Json[] }).items.find(({ id }) => id === tag['id'])
    }
    assert.deepEqual(await listed(), tag)
    const { id } = tag
    assert.deepEqual(
      await caller.called('tags_update', { id, name: 'Buyers', color: null }),
      await listed(),
    )
    assert.deepEqual(await caller.called('tags_delete', { id }), {})
    assert.equal(await listed(), undefined)
    const again = await caller.call('tags_delete', { id })
    assert.deepEqual([again.status, (again.json as Json)['error']], [404, 'not_found'])
  })

  it('both paths answer the same, and a tool without arguments needs no body', async () => {
    for (const path of ['/tools/tags_list', '/api/v1/tools/tags_list']) {
      const { status, json } = await daemon.request('POST', path, { token })
      assert.equal(status, 200)
      assert(Array.isArray((json as Json)['items']))
    }
    const [flat, prefixed] = await Promise.all(
      ['/tools', '/api/v1/tools'].map((path) => daemon.request('GET', path, { token })),
    )
    assert.equal(flat?.text, prefixed?.text)
    assert(flat)
    const { tools } = flat.json as { tools: { name: string }[] }
    assert.deepEqual(
      tools.map(({ name }) => name),
      TOOLS.map(({ name }) => name),
    )
  })

  it('lists in queries work as lists', async () => {
    const ids = ['ntf_01k9zq3v5w8x2y4z6a8b0c2d4e', 'ntf_01k9zq3v5w8x2y4z6a8b0c2d4f']
    assert.deepEqual(await caller.called('notifications_delete', { id: ids }), { deleted: 0 })
    for (const name of ['One', 'Two']) await caller.called('tags_create', { name })
    const page = await caller.called('tags_list', { limit: 1 })
    const next = await caller.called('tags_list', { limit: 1, cursor: page['next_cursor'] })
    assert.notDeepEqual(next['items'], page['items'])
  })

  it('a QR image is returned as the image', async () => {
    const id = await caller.idOf('guest_codes_create', { label: 'Ann' })
    for (const [format, type, begins] of [
      [undefined, 'image/svg+xml', '<svg'],
      ['svg', 'image/svg+xml', '<svg'],
      ['gif', 'image/gif', 'GIF8'],
    ] as const) {
      const { status, headers, text } = await caller.call(
        'guest_codes_qr',
        { id, ...(format && { format }) },
        {
          headers: { Accept: 'application/json' },
        },
      )
      assert.deepEqual([status, headers['content-type']], [200, type])
      assert(text.includes(begins), text.slice(0, 80))
    }
  })

  it('an answer of the assistant equals its route’s, with the ids to continue', async () => {
    const { status, json, headers } = await caller.call('chat_turn', {
      message: 'What is a stamp?',
    })
    assert.deepEqual([status, headers['content-type']], [200, 'application/json'])
    assert.equal((json as Json)['assistant'], 'handbook')
    const turn = headers['x-turn-id']
    assert.match(String(turn), /^trn_/)
    assert.match(String(headers['x-conversation-id']), /^cnv_/)
    assert.equal(
      (await caller.called('chat_rate', { turn_id: turn, rating: 'up' }))['rating'],
      'up',
    )
  })
})

describe('an Idempotency-Key', () => {
  const keyed = (key: string, tool: ToolName, body: object) =>
    caller.call(tool, body, { headers: { 'Idempotency-Key': key } })

  it('repeats a tool: the first answer is returned, and it runs once', async () => {
    const body = { name: 'Once' }
    const [first, second] = [
      await keyed('k-1', 'presets_create', body),
      await keyed('k-1', 'presets_create', body),
    ]
    assert.equal(first.status, 200)
    assert.deepEqual(second.json, first.json)
    const { items } = (await caller.called('presets_list')) as { items: { name: string }[] }
    assert.equal(items.filter(({ name }) => name === 'Once').length, 1)
    const other = await keyed('k-1', 'presets_create', { name: 'Twice' })
    assert.deepEqual([other.status, (other.json as Json)['error']], [422, 'idempotency_mismatch'])
  })

  it('belongs to the route: sent there, it returns the tool’s answer', async () => {
    const ours = await keyed('k-2', 'presets_create', { name: 'Shared' })
    const { status, json } = await daemon.request('POST', '/api/v1/presets', {
      token,
      body: { name: 'Shared' },
      headers: { 'Idempotency-Key': 'k-2' },
    })
    assert.equal(status, 201)
    assert.deepEqual(json, ours.json)
  })

  it('is ignored if the route ignores it: for reading, and for answers with a secret', async () => {
    const words = ['tags_list', 'tags_list'] as const
    for (const tool of words) assert.equal((await keyed('k-3', tool, {})).status, 200)
    const minted = await Promise.all(
      [1, 2].map(() => keyed('k-4', 'api_tokens_create', { name: 'n', scope: 'read' })),
    )
    assert.equal(new Set(minted.map(({ json }) => (json as Json)['token'])).size, 2)
  })
})
