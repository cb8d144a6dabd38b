/**
 * The requests of `countersignd mcp` to the process at the daemon’s address, and its handling of
 * the answers.
 */
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type TestContext, describe, it } from 'node:test'
import { type Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { rest } from '../../src/api/rest/index.ts'
import { REST_RULES, scopeTable } from '../../src/auth/scopes.ts'
import type { Scope } from '../../src/auth/scopes.ts'
import { askingDaemon } from '../../src/cli/daemon-account.ts'
import { stateSecret } from '../../src/storage/runtime-file.ts'
import { newServers } from '../../src/api/tools/server.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { connected } from './connected.ts'
import { standIn } from './stand-in.ts'

const serverFor = newServers(rest, scopeTable(REST_RULES))

interface Asking {
  readonly scope?: Scope
  readonly token?: string
  readonly proven?: boolean
}

/** Creates a client of the tools, and a stand-in for the daemon. */
async function asking(
  t: TestContext,
  answer: (req: IncomingMessage, res: ServerResponse) => void,
  { scope = 'write', token, proven = true }: Asking = {},
) {
  const dir = freshFolder(t)
  stateSecret(dir)
  const daemon = await standIn(t, dir, answer, proven)
  const { ask, close } = askingDaemon({ stateDir: dir, system: null }, scope, () => token ?? null)
  t.after(close)
  const reported: string[] = []
  const options = { canSubscribe: false, sets: 'all', toChoose: () => '' }
  const server = serverFor(ask, (tool, { code }) => reported.push(`${tool}: ${code}`), options)
  const [own, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(own)
  return { client: await connected(t, theirs, '2025-11-25'), daemon, reported, close }
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { isError = false, structuredContent } = await client.callTool({ name, arguments: args })
  const result = structuredContent as Readonly<Record<string, unknown>> & { message: string }
  return { isError, result }
}

const json = (res: ServerResponse, status: number, body: string) =>
  res.writeHead(status, { 'Content-Type': 'application/json' }).end(body)

describe('the chosen scope', () => {
  const cases: [scope: Scope, tool: string, required: string | null][] = [
    ['read', 'tags_list', null],
    ['read', 'tags_create', 'write or full'],
    ['read', 'org_members_list', 'full'],
    ['write', 'tags_create', null],
    ['write', 'api_tokens_list', 'full'],
    ['write', 'org_members_list', 'full'],
    ['full', 'org_members_list', null],
  ]
  for (const [scope, tool, required] of cases)
    it(`${scope}: ${tool} is ${required === null ? 'called' : 'rejected'}`, async (t) => {
      const { client, daemon } = await asking(t, (_req, res) => json(res, 200, '{}'), { scope })
      const { isError, result } = await call(client, tool)
      if (required === null) {
        assert.deepEqual([isError, result, daemon.asked.length], [false, {}, 1])
        return
      }
      assert.deepEqual(
        [isError, result['error'], result['required_scope']],
        [true, 'insufficient_scope', required],
      )
      assert.match(result.message, /countersignd mcp --scope (write|full)"/)
      assert.deepEqual(daemon.asked, [], 'the daemon never hears of it')
    })
})

it('names are looked up within the scope', async (t) => {
  const { client, daemon } = await asking(t, (_req, res) => json(res, 200, '{}'))
  const { isError, result } = await call(client, 'api_tokens_delete', { id: 'script' })
  assert.deepEqual([isError, result['error']], [true, 'insufficient_scope'])
  assert.deepEqual(daemon.asked, [])
})

describe('events of organisations', () => {
  const cases: [scope: Scope, types: string | undefined, wanted: RegExp | null][] = [
    ['read', undefined, /^connection\.\*,(?!.*\borg\b)/],
    ['write', 'sync.*,token.revoked', /^sync\.\*,token\.revoked$/],
    ['read', 'org.*', null],
    ['write', 'sync.*,org.joined', null],
    ['full', 'org.*', /^org\.\*$/],
    ['full', undefined, /^$/],
  ]
  for (const [scope, types, wanted] of cases)
    it(`${scope}: the types ${types ?? 'left out'} are ${wanted === null ? 'rejected' : 'read'}`, async (t) => {
      const { client, daemon } = await asking(t, (_req, res) => json(res, 200, '{}'), { scope })
      const { isError, result } = await call(
        client,
        'events_follow',
        types === undefined ? {} : { types },
      )
      if (wanted === null) {
        assert.deepEqual(
          [isError, result['error'], result['required_scope']],
          [true, 'insufficient_scope', 'full'],
        )
        assert.match(result.message, /countersignd mcp --scope full"/)
        assert.deepEqual(daemon.asked, [])
        return
      }
      const { searchParams } = new URL(daemon.asked[0]?.path ?? '', 'http://localhost')
      assert.match(searchParams.get('types') ?? '', wanted)
      assert.equal(searchParams.get('wait'), '0')
    })
})

describe('a request to the daemon', () => {
  it('is the request of the row, with the chosen token or the command line’s own', async (t) => {
    for (const token of [undefined, 'csm_chosen']) {
      const { client, daemon } = await asking(
        t,
        (_req, res) => json(res, 200, '{}'),
        token === undefined ? {} : { token },
      )
      const id = `gst_${'0'.repeat(26)}`
      await call(client, 'guest_codes_qr', { id, format: 'gif' })
      const [{ path, authorization } = assert.fail()] = daemon.asked
      assert.equal(path, `/api/v1/guest-codes/${id}/qr?format=gif`)
      if (token === undefined) assert.match(String(authorization), /^Bearer csd_/)
      else assert.equal(authorization, `Bearer ${token}`)
    }
  })

  it('is not sent without the secret of the folder', async (t) => {
    const { client, daemon } = await asking(t, (_req, res) => json(res, 200, '{}'), {
      proven: false,
    })
    const { isError, result } = await call(client, 'tags_list')
    assert.deepEqual([isError, result['error']], [true, 'backend_unavailable'])
    assert.deepEqual(daemon.asked, [])
  })
})

describe('an answer of the daemon', () => {
  it('that is an error is the result', async (t) => {
    const refusal = { error: 'rate_limited', message: 'Later.' }
    const { client, reported } = await asking(t, (_req, res) =>
      json(res, 429, JSON.stringify(refusal)),
    )
    const { isError, result } = await call(client, 'verify_words', { words: 'a b c' })
    assert.deepEqual([isError, result], [true, refusal])
    assert.deepEqual(reported, [])
  })

  it('that is missing, as the daemon stopped: the operation may have run', async (t) => {
    const { client, daemon } = await asking(t, (req) => req.socket.destroy())
    const { isError, result } = await call(client, 'tags_create', { name: 'Bank' })
    assert.deepEqual([isError, result['error']], [true, 'backend_unavailable'])
    assert.match(result.message, /may have taken effect nevertheless/)
    assert.equal(daemon.asked.length, 1, 'asked once, not again')
  })

  for (const [what, status, body] of [
    ['an error', 500, 'canary'],
    ['an answer', 200, '{"canary"'],
  ] as const)
    it(`${what} that is not JSON: an error of the server, which does not quote it`, async (t) => {
      const { client, reported } = await asking(t, (_req, res) => json(res, status, body))
      await assert.rejects(call(client, 'tags_list'), (error: Error & { code?: number }) => {
        assert.equal(error.code, -32603)
        assert(!error.message.includes('canary'), error.message)
        return true
      })
      assert.deepEqual(reported, ['tags_list: internal'])
    })

  const delta = (content: string) =>
    `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`
  const streams: [what: string, body: string, told: object | null, error?: string][] = [
    [
      'in pieces: the whole text',
      `${delta('Hello, ')}${delta('world')}data: [DONE]\n\n`,
      { turn_id: 'trn_1', conversation_id: 'cnv_1', answer: 'Hello, world' },
    ],
    [
      'in pieces that break off: the reason',
      `${delta('Hel')}event: error\ndata: {"error":"backend_timeout","message":"Too slow."}\n\n`,
      null,
      'backend_timeout',
    ],
    [
      'in pieces without an end: too large',
      delta('x'.repeat(9_999)).repeat(200),
      null,
      'payload_too_large',
    ],
  ]
  for (const [what, body, wanted, error] of streams)
    it(what, async (t) => {
      const { client, daemon } = await asking(t, (_req, res) => {
        const ids = { 'X-Turn-Id': 'trn_1', 'X-Conversation-Id': 'cnv_1' }
        res.writeHead(200, { 'Content-Type': 'text/event-stream', ...ids })
        for (const line of body.split(/(?<=\n\n)/)) res.write(line)
        res.end()
      })
      const { isError, result } = await call(client, 'chat_turn', { message: 'Hi' })
      if (wanted === null) assert.deepEqual([isError, result['error']], [true, error])
      else assert.deepEqual([isError, result], [false, wanted])
      await daemon.left()
    })

  it('that breaks off in the middle: the operation may have run', async (t) => {
    const { client } = await asking(t, (req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream' })
      res.write(delta('Hel'), () => req.socket.destroy())
    })
    const { isError, result } = await call(client, 'chat_turn', { message: 'Hi' })
    assert.deepEqual([isError, result['error']], [true, 'backend_unavailable'])
  })

  it('that is pending when the process ends: the connection is closed', async (t) => {
    const { client, daemon, close } = await asking(t, () => undefined)
    const answer = call(client, 'tags_list')
    await daemon.next()
    close()
    assert.equal((await answer).isError, true)
    await daemon.left()
  })
})
