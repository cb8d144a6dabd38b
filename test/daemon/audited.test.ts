/**
 * The audit log’s lines for requests to a daemon: by HTTP, by tools, and by the command line
 * without a daemon.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Question, type TestDaemon, startDaemon } from '../daemon.ts'
import { ask, newToken } from '../e2e/caller.ts'
import { countersignd, startDaemon as startProgram } from '../e2e/program.ts'
import { exchange, hostOf } from '../http/raw.ts'
import { EXIT } from '../../src/errors.ts'
import { verifyAudit } from '../../src/storage/audit-chain.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

type Line = Record<string, unknown>
const linesIn = (dir: string) =>
  readFileSync(join(dir, 'audit.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

let daemon: TestDaemon
let read: { id: string; token: string }
before(async () => {
  daemon = await startDaemon()
  const { json } = await daemon.request('POST', '/api/v1/token', {
    body: { name: 'reader', scope: 'read' },
  })
  read = json as typeof read
})
after(() => daemon.close())

/** Returns the lines that some work adds. */
async function added(work: () => Promise<unknown>): Promise<Line[]> {
  const count = linesIn(daemon.stateDir).length
  await work()
  // The line of a rejected request is written at once, after the gathered lines before it.
  await daemon.request('GET', '/local/sign-in', { token: read.token })
  return linesIn(daemon.stateDir).slice(count, -1)
}

/** Returns the lines that some work adds, without the fields that differ between runs. */
const linesOf = async (work: () => Promise<unknown>) =>
  (await added(work)).map(({ peer_uid, token, route, status, outcome, created }) => ({
    peer_uid,
    token,
    route,
    status,
    outcome,
    ...(created === undefined ? {} : { created }),
  }))

/** The uid of this process, which sends the requests. */
const uid = process.platform === 'linux' ? (process.getuid?.() ?? null) : null
const line = (token: string | null, route: string | null, status: number, outcome = 'done') => ({
  peer_uid: uid,
  token,
  route,
  status,
  outcome,
})
const TOKEN = 'csd_0000000000000000000000000000000000000'

const asked: [name: string, method: string, path: string, Question | (() => Question), Line[]][] = [
  ['health', 'GET', '/health', {}, []],
  ['the document', 'GET', '/api/v1/openapi.json', {}, []],
  ['no token', 'GET', '/api/v1/tags', {}, [line(null, 'GET /api/v1/tags', 401, 'unauthorized')]],
  [
    'a wrong token',
    'GET',
    '/api/v1/tags',
    { token: TOKEN },
    [line(null, 'GET /api/v1/tags', 401, 'invalid_token')],
  ],
  ['an unknown route', 'GET', `/${TOKEN}`, {}, [line(null, null, 401, 'unauthorized')]],
  [
    'another host',
    'GET',
    '/health',
    { headers: { Host: 'evil.example' } },
    [line(null, null, 403, 'host_not_allowed')],
  ],
  [
    'a browser that tries to make a token',
    'POST',
    '/api/v1/token',
    { body: { name: 'n', scope: 'full' }, headers: { Origin: 'https://evil.example' } },
    [line(null, null, 403, 'origin_not_allowed')],
  ],
  [
    'a rejected new token',
    'POST',
    '/api/v1/token',
    { body: { name: 'n', scope: 'all' } },
    [line(null, 'POST /api/v1/token', 422, 'validation_failed')],
  ],
]
for (const [name, method, path, question, expected] of asked)
  test(`${name}: ${expected.length} lines`, async () => {
    const given = typeof question === 'function' ? question() : question
    assert.deepEqual(await linesOf(() => daemon.request(method, path, given)), expected)
  })

test('a new token: its id, and the requester', async () => {
  let made = ''
  const lines = await linesOf(async () => {
    const body = { name: 'n', scope: 'read' }
    const { json } = await daemon.request('POST', '/api/v1/token', { body })
    made = (json as { id: string }).id
  })
  assert.deepEqual(lines, [{ ...line(null, 'POST /api/v1/token', 201), created: made }])
})

test('allowed and rejected requests of a token are recorded with its id', async () => {
  const { id, token } = read
  const lines = await linesOf(async () => {
    await daemon.request('GET', '/api/v1/connections/con_x/code', { token })
    await daemon.request('GET', '/api/v1/tags?limit=5', { token })
    await daemon.request('POST', '/api/v1/tags', { token, body: { name: 'n' } })
    await daemon.request('GET', '/api/v1/nothing/here', { token })
    await daemon.request('GET', '/local/sign-in', { token })
  })
  assert.deepEqual(lines, [
    line(id, 'GET /api/v1/connections/{id}/code', 404, 'not_found'),
    line(id, 'GET /api/v1/tags', 200),
    line(id, 'POST /api/v1/tags', 403, 'insufficient_scope'),
    line(id, null, 404, 'no_such_route'),
    line(id, null, 403, 'forbidden'),
  ])
})

test('a tool is a line for its route and one for the call, with one request id', async () => {
  const { id, token } = read
  let known: unknown
  const lines = await added(async () => {
    const { headers } = await daemon.request('POST', '/tools/tags_list', { token, body: {} })
    known = headers['x-request-id']
    await daemon.request('POST', '/tools/tags_create', { token, body: { name: 'n' } })
  })
  assert.deepEqual(
    lines.map(({ token: by, route, outcome }) => [by, route, outcome]),
    [
      [id, 'GET /api/v1/tags', 'done'],
      [id, 'POST /api/v1/tools/{name}', 'done'],
      [id, 'POST /api/v1/tags', 'insufficient_scope'],
      [id, 'POST /api/v1/tools/{name}', 'insufficient_scope'],
    ],
  )
  assert.deepEqual([lines[0]?.['request_id'], lines[1]?.['request_id']], [known, known])
})

test('health has no line; an invalid request to it has one, with the requester', async () => {
  const asking = (path: string) => () =>
    exchange(daemon.address, [
      `GET ${path} HTTP/1.1`,
      `Host: ${hostOf(daemon.address)}`,
      'Connection: close',
    ])
  assert.deepEqual(await linesOf(asking('/health')), [])
  assert.deepEqual(await linesOf(asking('/health?x=1')), [
    line(null, 'GET /api/v1/health', 422, 'validation_failed'),
  ])
})

test('each request of a pipeline has its line', async () => {
  const authorization = `Authorization: Bearer ${read.token}`
  const host = `Host: ${hostOf(daemon.address)}`
  const lines = await linesOf(() =>
    exchange(daemon.address, [
      'GET /api/v1/tags HTTP/1.1',
      host,
      authorization,
      '',
      'GET /api/v1/status HTTP/1.1',
      host,
      authorization,
      'Connection: close',
    ]),
  )
  assert.deepEqual(lines, [
    line(read.id, 'GET /api/v1/tags', 200),
    line(read.id, 'GET /api/v1/status', 200),
  ])
})

test('the log has the daemon’s start and end, and the command line with and without it', async (t) => {
  const dir = freshFolder(t)
  const one = await startDaemon({ SVC_STATE_DIR: dir })
  await one.close()
  const { code, stderr } = await countersignd(['status'], dir)
  assert.equal(code, EXIT.noDaemon, stderr)
  assert.deepEqual(
    linesIn(dir).map(({ token, route, outcome }) => [token, route, outcome]),
    [
      [null, null, 'started'],
      [null, null, 'stopped'],
      ['command line', 'GET /api/v1/status', 'done'],
    ],
  )
  assert.equal(verifyAudit(dir).fault, null)
})

test('a killed daemon loses the lines of the last reads, and of no change or error', async (t) => {
  const dir = freshFolder(t)
  const [read, change, error] = ['GET /api/v1/tags', 'POST /api/v1/tags', 'GET /api/v1/tags/tag_x']
  const runs = [
    [read, change, read, read, error, read],
    [error, read, change, read, read],
    [read, read, error],
  ]
  for (const [run, requests] of runs.entries()) {
    const program = await startProgram(dir)
    const { token } = await newToken(program.address)
    const ids: (string | null)[] = []
    for (const [n, request] of requests.entries()) {
      const body = request === change ? { name: `${run} ${n}` } : undefined
      const { headers } = await ask(program.address, token, request, body)
      ids.push(headers.get('x-request-id'))
    }
    await program.end('SIGKILL')
    const kept = linesIn(dir).map((one) => one['request_id'])
    const lines = kept.slice(kept.indexOf(ids[0] as string))
    const last = requests.findLastIndex((request) => request !== read)
    assert(lines.length > last, `${lines.length} lines of run ${run}`)
    assert.deepEqual(lines, ids.slice(0, lines.length))
    assert.equal(verifyAudit(dir).fault, null)
  }
})

test('a daemon that stops in order writes the gathered lines first', async (t) => {
  const dir = freshFolder(t)
  const program = await startProgram(dir)
  const { token } = await newToken(program.address)
  const { headers } = await ask(program.address, token, 'GET /api/v1/tags')
  await program.end('SIGTERM')
  assert.deepEqual(
    linesIn(dir)
      .slice(-2)
      .map(({ request_id: id, outcome }) => [id, outcome]),
    [
      [headers.get('x-request-id'), 'done'],
      [null, 'stopped'],
    ],
  )
})

test('the log contains no sent data, and is a chain', () => {
  const text = readFileSync(join(daemon.stateDir, 'audit.jsonl'), 'utf8')
  for (const sent of ['csd_', 'evil.example', read.token, 'con_x', 'nothing/here', 'limit=5'])
    assert(!text.includes(sent), sent)
  assert.equal(verifyAudit(daemon.stateDir).fault, null)
})
