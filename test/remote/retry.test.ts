/**
 * Retries: which requests are repeated, how often, with which pauses, and that no operation is
 * done twice.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { AppError, type ErrorCode } from '../../src/errors.ts'
import type { Remote, RemoteAccount } from '../../src/remote/remote.ts'
import { freePort } from '../free-port.ts'
import { type Answerer, type Scripted, clientAt, json, refusal, scripted } from './scripted.ts'
import { rejects } from '../rejects.ts'

const AT = '2026-01-01T00:00:00.000Z'
const ID = 'con_00000000000000000000000000'
const CONNECTION = {
  id: ID,
  name: 'Bob',
  kind: 'direct',
  state: 'active',
  favorite: false,
  tag_ids: [],
  members: [],
  preset_id: null,
  replaces: null,
  replaced_by: null,
  suspended: null,
  epoch: 1,
  secret_here: false,
  created_at: AT,
  updated_at: AT,
}
const RECEIPT = { receipt: 'a.b.c' }
const CONTEXT = {
  user: { id: 'acc_00000000000000000000000000', display_name: 'A', email: null, kind: 'machine' },
  organisations: [],
}

const cut: Answerer = (res) => res.socket!.destroy()
const halfway: Answerer = (res) => {
  res.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': '99' })
  res.write('{', () => res.socket!.destroy())
}
const away =
  (status = 503, headers: Record<string, string> = {}): Answerer =>
  (res) =>
    res.writeHead(status, { 'Content-Type': 'text/html', ...headers }).end('<h1>away</h1>')
const refuse =
  (status: number, code: ErrorCode): Answerer =>
  (res) =>
    json(res, status, refusal(code))
const good = (res: ServerResponse, { method, url }: { method: string; url: string }) => {
  if (method === 'DELETE') return res.writeHead(204).end()
  if (url === '/device/v1/stamps') return json(res, 201, RECEIPT)
  return json(res, 200, url === '/api/v1/context' ? CONTEXT : CONNECTION)
}
/** Gives these answers in turn, then successful ones. */
const after =
  (...answers: Answerer[]): Answerer =>
  (res, seen, n) =>
    (answers[n] ?? good)(res, seen, n)

type Call = (account: RemoteAccount, remote: Remote) => Promise<unknown>
const get: Call = (account) => account.context.read({})
const post: Call = (account) => account.stamps.create({ body: { stamp: 'a.b.c' } })
const remove: Call = (account) => account.connections.delete({ id: ID })
const mint: Call = (account) => account.machineTokens.create({ body: { name: 'n', scope: 'read' } })

const mailed: Call = (_, remote) => remote.door().signIns.create({ body: { email: 'a@b.cd' } })
const opened: Call = (_, remote) => remote.door().signIns.read({ body: { code: 'x' } })
const NAMES = { code: 'x', device_name: 'd', platform: 'linux', seal_key: 'A' } as const
const entered: Call = (_, remote) =>
  remote.door().enrolment.create({ body: { ...NAMES, display_name: 'A', entry: 'a.b.c' } })
const joined: Call = (_, remote) =>
  remote
    .door()
    .enrolment.further({ body: { ...NAMES, device: 'dev_0', keys: publicKeys(newDeviceKeys()) } })

const keysOf = ({ seen }: Scripted) => seen.map(({ headers }) => headers['idempotency-key'])

const table: [
  name: string,
  call: Call,
  answers: Answerer[],
  times: number,
  code: ErrorCode | null,
][] = [
  ['a read that is cut', get, [cut], 2, null],
  ['a read that is cut three times', get, [cut, cut, cut], 4, null],
  ['a read that is always cut', get, Array<Answerer>(9).fill(cut), 4, 'backend_unavailable'],
  ['a write that is cut', post, [cut], 2, null],
  ['a write with a cut answer', post, [halfway, halfway], 3, null],
  ['a write that is always cut', post, Array<Answerer>(9).fill(cut), 4, 'backend_unavailable'],
  ['a server that is not ready', post, [away(), away()], 3, null],
  ['a proxy before an unreachable server', post, [away(502)], 2, null],
  ['several failures one after another', post, [cut, away(), halfway], 4, null],
  ['a write that is still running', post, [cut, refuse(409, 'in_progress')], 3, null],
  [
    'a write that never ends',
    post,
    Array<Answerer>(9).fill(refuse(409, 'in_progress')),
    4,
    'backend_timeout',
  ],
  [
    'another write under the key',
    post,
    [refuse(422, 'idempotency_mismatch')],
    1,
    'idempotency_mismatch',
  ],
  ['an invalid write', post, [refuse(422, 'validation_failed')], 1, 'validation_failed'],
  ['a conflicting write', post, [refuse(409, 'conflict')], 1, 'conflict'],
  ['too many requests', post, [refuse(429, 'rate_limited')], 1, 'rate_limited'],
  ['a server that fails', post, [refuse(500, 'internal')], 1, 'backend_error'],
  [
    'a server with an outage behind it',
    get,
    [refuse(504, 'backend_timeout')],
    1,
    'backend_timeout',
  ],
  ['minting a token', mint, [cut], 1, 'backend_unavailable'],
  ['minting a token at a server that is not ready', mint, [away()], 1, 'backend_unavailable'],
  ['sending a mail', mailed, [halfway], 1, 'backend_unavailable'],
  ['a code that is shown once', opened, [halfway], 1, 'backend_unavailable'],
  ['signing in a device', entered, [halfway], 1, 'backend_unavailable'],
  ['a further device', joined, [away()], 1, 'backend_unavailable'],
  ['a deletion that is cut', remove, [cut], 2, null],
  ['a deletion that succeeded with a cut answer', remove, [cut, refuse(404, 'not_found')], 2, null],
  ['a deletion of an unknown object', remove, [refuse(404, 'not_found')], 1, 'not_found'],
  ['a read of an object deleted meanwhile', get, [cut, refuse(404, 'not_found')], 2, 'not_found'],
]
for (const [name, call, answers, times, code] of table)
  test(name, async (t) => {
    const server = await scripted(t, after(...answers))
    const remote = clientAt(t, server.base)
    const outcome: unknown = await call(remote.bearer('csm_x'), remote).then(
      () => null,
      (error: unknown) => error,
    )
    const found = outcome instanceof AppError ? outcome.code : outcome
    assert.deepEqual([found, server.seen.length], [code, times])
    assert.equal(new Set(server.seen.map(({ body }) => body)).size, 1)
    const keys = new Set(keysOf(server))
    assert.equal(keys.size, 1, 'every attempt has the same key')
    if (call === post) assert.match(String([...keys][0]), /^[\w-]{22}$/)
    else assert.deepEqual([...keys], [undefined])
    // A final answer causes no wait.
    assert.equal(remote.waits.length, times - 1)
  })

test('the waits grow, vary, and end after about three seconds', async (t) => {
  const server = await scripted(t, cut)
  const all: number[] = []
  for (let i = 0; i < 20; i++) {
    const remote = clientAt(t, server.base)
    await assert.rejects(get(remote.bearer('csm_x'), remote))
    all.push(...remote.waits)
  }
  const [first, second, third] = [0, 1, 2].map((n) => all.filter((_, i) => i % 3 === n))
  for (const [waits, most] of [
    [first, 400],
    [second, 1000],
    [third, 2000],
  ] as const) {
    assert.equal(waits!.length, 20)
    assert(waits!.every((ms) => ms >= most / 2 && ms <= most))
    assert(new Set(waits).size > 1)
  }
})

test('after a failed call there are no retries until the server answers again', async (t) => {
  let isUp = false
  const server = await scripted(t, (...given) => (isUp ? good : cut)(...given))
  const remote = clientAt(t, server.base)
  const account = remote.bearer('csm_x')
  for (const times of [4, 5, 6]) {
    await assert.rejects(post(account, remote))
    assert.equal(server.seen.length, times)
  }
  isUp = true
  await post(account, remote)
  isUp = false
  await assert.rejects(post(account, remote))
  assert.equal(server.seen.length, 7 + 4)
})

for (const [what, answer, times] of [
  ['reports a time-out behind it is reachable', refuse(504, 'backend_timeout'), 4],
  ['has a time-out itself, by a proxy, is unreachable', away(504), 1],
] as const)
  test(`a server that ${what}`, async (t) => {
    const server = await scripted(t, (res, seen, n) => (n === 0 ? answer : cut)(res, seen, n))
    const remote = clientAt(t, server.base)
    const account = remote.bearer('csm_x')
    await rejects('backend_timeout', post(account, remote))
    await rejects('backend_unavailable', post(account, remote))
    assert.equal(server.seen.length, 1 + times)
  })

test('a short Retry-After is waited for, and a long one is returned', async (t) => {
  const server = await scripted(t, after(away(503, { 'Retry-After': '3' })))
  const remote = clientAt(t, server.base)
  await post(remote.bearer('csm_x'), remote)
  assert.deepEqual(remote.waits, [3000])

  const busy = await scripted(t, away(503, { 'Retry-After': '60' }))
  const patient = clientAt(t, busy.base)
  await assert.rejects(
    post(patient.bearer('csm_x'), patient),
    (error: AppError) => error.headers['Retry-After'] === '60',
  )
  assert.deepEqual([busy.seen.length, patient.waits.length], [1, 0])
})

test('minting is retried if no connection could be made before', async (t) => {
  // The server starts between the attempts, on the port that rejected the first.
  const port = await freePort()
  const { createServer } = await import('node:http')
  const minted = {
    id: 'tok_00000000000000000000000000',
    name: 'n',
    label: null,
    scope: 'read',
    created_at: AT,
    expires_at: null,
    token: 'csm_1',
  }
  const { promise: up, resolve } = Promise.withResolvers<void>()
  const server = createServer((_, res) => json(res, 201, minted))
  t.after(() => server.close())
  const remote = clientAt(t, `http://127.0.0.1:${port}`, {
    wait: async () => {
      server.listen(port, '127.0.0.1', () => resolve())
      await up
    },
  })
  const { token } = await remote.bearer('csm_x').machineTokens.create({
    body: { name: 'n', scope: 'read' },
  })
  assert.equal(token, 'csm_1')
})

test('minting is sent once, also on a connection that others used before', async (t) => {
  const waiting: (() => unknown)[] = []
  const full = Promise.withResolvers<void>()
  const server = await scripted(t, (res, seen) => {
    if (seen.method === 'POST') return res.socket!.destroy()
    waiting.push(() => good(res, seen))
    if (waiting.length === 64) full.resolve()
    return undefined
  })
  const remote = clientAt(t, server.base)
  const account = remote.bearer('csm_x')
  const reads = Array.from({ length: 64 }, () => get(account, remote))
  await full.promise
  const minted = rejects('backend_unavailable', mint(account, remote))
  for (const go of waiting) go()
  await Promise.all([minted, ...reads])
  assert.equal(server.seen.filter(({ method }) => method === 'POST').length, 1)
})

describe('the key of an operation', () => {
  const KEY = /^[\w-]{43}$/
  test('two calls have two keys', async (t) => {
    const server = await scripted(t, good)
    const remote = clientAt(t, server.base)
    for (let i = 0; i < 2; i++) await post(remote.bearer('csm_x'), remote)
    assert.equal(new Set(keysOf(server)).size, 2)
  })

  test('follows from the operation, the method and the path, in every process', async (t) => {
    const server = await scripted(t, good)
    const id = new Uint8Array(16).fill(7)
    const as = (act: Uint8Array) => clientAt(t, server.base).bearer('csm_x').acting({ id: act })
    const stamp = { body: { stamp: 'a.b.c' } }
    await as(id).stamps.create(stamp)
    await as(id).stamps.create(stamp)
    await as(id).connections.favorite({ id: ID, body: {} })
    await as(new Uint8Array(16).fill(8)).stamps.create(stamp)
    const [first, again, elsewhere, another] = keysOf(server)
    const expected = hash(
      'sha256',
      Buffer.from([...id, ...Buffer.from('POST/device/v1/stamps')]),
      'base64url',
    )
    assert.match(expected, KEY)
    assert.deepEqual([first, again], [expected, expected])
    assert.equal(new Set([first, elsewhere, another]).size, 3)
  })
})
