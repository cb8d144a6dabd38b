/** Invalid requests, unknown versions, and batches get the answers of the protocol. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Question, type TestDaemon, startDaemon } from '../daemon.ts'
import { calling, repliesOf, speak, spoken } from './speaking.ts'

const CANARY = 'canary-of-the-request'

let daemon: TestDaemon
let token: string
before(async () => {
  daemon = await startDaemon()
  token = await daemon.token('full')
})
after(() => daemon.close())

const ACCEPT = { Accept: 'application/json, text/event-stream' }
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' }
const MODERN = spoken('modern', { method: 'tools/list' })
const TO_COME = JSON.parse(JSON.stringify(MODERN).replaceAll('2026-07-28', '2999-01-01')) as {
  message: object
  headers: Record<string, string>
}
const deep = (open: string, close: string) => `${open.repeat(400_000)}1${close.repeat(400_000)}`
const deepObject = (levels: number) => `${'{"a":'.repeat(levels)}{}${'}'.repeat(levels)}`
const MIB = 1024 * 1024

describe('an invalid request', () => {
  const cases: [what: string, question: Question, status: number, error: number | string][] = [
    ['not JSON', { body: `{"${CANARY}`, headers: ACCEPT }, 400, -32700],
    [
      'nothing',
      { body: '', headers: { ...ACCEPT, 'Content-Type': 'application/json' } },
      400,
      -32700,
    ],
    ['not UTF-8', { body: Buffer.from([0x22, 0xff, 0x22]), headers: ACCEPT }, 400, 'invalid_json'],
    ['null', { body: 'null', headers: ACCEPT }, 400, -32600],
    ['no JSON-RPC', { body: { id: 1, method: 'ping' }, headers: ACCEPT }, 400, -32600],
    [
      'an id that is not a number',
      { body: '{"jsonrpc":"2.0","id":1e400,"method":"ping"}', headers: ACCEPT },
      400,
      -32600,
    ],
    ['deep lists', { body: deep('[', ']'), headers: ACCEPT }, 400, 'invalid_json'],
    ['deep objects', { body: deep('{"a":', '}'), headers: ACCEPT }, 400, 'invalid_json'],
    [
      '5 MiB',
      { body: { ...PING, params: { a: 'x'.repeat(5 * MIB) } }, headers: ACCEPT },
      413,
      'payload_too_large',
    ],
    [
      '2 MiB for a tool without content',
      { body: { ...PING, params: { a: 'x'.repeat(2 * MIB) } }, headers: ACCEPT },
      413,
      'payload_too_large',
    ],
    ['a million values', { body: `[${'0,'.repeat(MIB)}0]`, headers: ACCEPT }, 400, 'invalid_json'],
    ['no Accept', { body: PING }, 406, -32000],
    ['another Accept', { body: PING, headers: { Accept: 'text/html' } }, 406, -32000],
    [
      'another type',
      { body: PING, headers: { ...ACCEPT, 'Content-Type': 'text/plain' } },
      415,
      'unsupported_media_type',
    ],
    [
      'an encoding',
      { body: PING, headers: { ...ACCEPT, 'Content-Encoding': 'gzip' } },
      415,
      'unsupported_media_type',
    ],
    [
      'an unknown version',
      { body: PING, headers: { ...ACCEPT, 'MCP-Protocol-Version': '1999-01-01' } },
      400,
      -32000,
    ],
    [
      'a future version, only in its headers',
      { body: PING, headers: { ...ACCEPT, 'MCP-Protocol-Version': '2999-01-01' } },
      400,
      -32602,
    ],
    ['a future version', { body: TO_COME.message, headers: TO_COME.headers }, 400, -32022],
    [
      'another version in its headers than in its body',
      {
        body: MODERN.message,
        headers: { ...MODERN.headers, 'MCP-Protocol-Version': '2025-06-18' },
      },
      400,
      -32020,
    ],
    [
      'another method in its headers than in its body',
      { body: MODERN.message, headers: { ...MODERN.headers, 'Mcp-Method': 'ping' } },
      400,
      -32020,
    ],
    ['an empty batch', { body: [], headers: ACCEPT }, 400, -32600],
    [
      'a batch of 11',
      { body: Array.from({ length: 11 }, (_, id) => ({ ...PING, id })), headers: ACCEPT },
      400,
      -32600,
    ],
    [
      'deep capabilities',
      {
        body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"a","version":"0"},"capabilities":{"experimental":{"a":${deepObject(3000)}}}}}`,
        headers: ACCEPT,
      },
      400,
      'invalid_json',
    ],
    [
      'too many members',
      {
        body: {
          ...PING,
          params: {
            _meta: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i])),
          },
        },
        headers: ACCEPT,
      },
      400,
      -32600,
    ],
    [
      'a batch of a version without batches',
      { body: [PING], headers: { ...ACCEPT, 'MCP-Protocol-Version': '2025-06-18' } },
      400,
      -32600,
    ],
    [
      'a batch of the newest version',
      { body: [MODERN.message], headers: MODERN.headers },
      400,
      -32600,
    ],
  ]
  for (const [what, question, status, error] of cases)
    it(`${what}: ${status} ${error}`, async () => {
      const answer = await daemon.request('POST', '/mcp', { token, ...question })
      assert.equal(answer.status, status, answer.text)
      const body = JSON.parse(answer.text) as { error: string | { code: number } }
      assert.equal(typeof body.error === 'string' ? body.error : body.error.code, error)
    })

  for (const method of ['GET', 'DELETE', 'PUT', 'PATCH'])
    it(`${method}: 405, only POST`, async () => {
      const { status, headers } = await daemon.request(method, '/mcp', { token, headers: ACCEPT })
      assert.deepEqual([status, headers.allow], [405, 'POST'])
    })

  for (const path of ['/mcp', '/api/v1/mcp'])
    for (const accept of ['application/json', '*/*'])
      it(`a client that accepts ${accept} is answered in JSON at ${path}`, async () => {
        const params = {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'a', version: '0' },
        }
        for (const [method, given, member] of [
          ['initialize', params, 'serverInfo'],
          ['tools/list', {}, 'tools'],
          ['tools/call', { name: 'tags_list', arguments: {} }, 'structuredContent'],
        ] as const) {
          const body = { jsonrpc: '2.0', id: 7, method, params: given }
          const headers = { Accept: accept }
          const answer = await daemon.request('POST', path, { token, body, headers })
          assert.equal(answer.status, 200, answer.text)
          assert.match(answer.headers['content-type'] ?? '', /^application\/json/)
          const { id, result } = answer.json as { id: number; result: object }
          assert.equal(id, 7)
          assert(member in result, answer.text.slice(0, 200))
        }
        const batch = [1, 2].map((id) => ({ ...PING, id }))
        const headers = { Accept: accept }
        const { json } = await daemon.request('POST', path, { token, body: batch, headers })
        assert.deepEqual(
          (json as { id: number }[]).map(({ id }) => id),
          [1, 2],
        )
      })

  it('an older batch is answered message by message, also if two have one id', async () => {
    for (const [ids, answers] of [
      [[1, 2, 3], 3],
      [[1, 1], 1],
    ] as const) {
      const body = ids.map((id) => ({ ...PING, id }))
      const answer = await daemon.request('POST', '/mcp', { token, body, headers: ACCEPT })
      assert.equal(repliesOf(answer).length, answers, answer.text)
    }
  })

  it('an Idempotency-Key is ignored, as a batch may contain two requests', async () => {
    const body = ['one', 'two'].map((name, id) => {
      const params = { name: 'external_members_create', arguments: { display_name: name } }
      return { jsonrpc: '2.0', id, method: 'tools/call', params }
    })
    const headers = { ...ACCEPT, 'Idempotency-Key': 'k' }
    const answer = await daemon.request('POST', '/mcp', { token, body, headers })
    const made = repliesOf(answer).map(({ result }) => (result as { isError?: true }).isError)
    assert.deepEqual(made, [undefined, undefined])
  })

  it('a message without an answer gets 202', async () => {
    for (const body of [
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      { jsonrpc: '2.0', id: 1, result: {} },
    ]) {
      const answer = await daemon.request('POST', '/mcp', { token, body, headers: ACCEPT })
      assert.deepEqual([answer.status, answer.text], [202, ''])
    }
  })

  it('a handshake with an unknown version is answered with a known one', async () => {
    const params = {
      protocolVersion: '1999-01-01',
      capabilities: {},
      clientInfo: { name: 'a', version: '0' },
    }
    const { reply } = await speak(daemon.address, token, 'legacy', { method: 'initialize', params })
    assert.equal((reply.result as { protocolVersion?: string }).protocolVersion, '2025-11-25')
  })
})

it('the invalid requests logged nothing, made nothing, and did not stop the daemon', async () => {
  assert(!daemon.log.join('').includes(CANARY))
  const faults = daemon.log.filter((line) => /"level":"(warn|error)"/.test(line))
  assert.deepEqual(faults, [])
  const { reply } = await calling(daemon.address, token, 'modern', 'tags_list')
  assert.deepEqual(reply.result?.structuredContent?.['items'], [])
})
