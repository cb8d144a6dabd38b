/**
 * Tests what the server reads from a request besides path and JSON.
 * The cases cover tokens of both schemes, proofs, keys and forms.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import * as v from 'valibot'
import type { Table } from '../../src/api/route.ts'
import { tokenDigest } from '../../src/auth/tokens.ts'
import { type Request, newDispatch } from '../../src/http/dispatch.ts'
import { AppError } from '../../src/errors.ts'
import { newLog } from '../../src/log.ts'
import { parseForm } from '../../src/http/body.ts'
import { type Listening, type ServerOptions, listen } from '../../src/http/server.ts'
import { ask } from '../daemon.ts'
import { answersIn, exchange } from './raw.ts'
import { openRules } from './open-listener.ts'

const table = {
  things: {
    read: { method: 'GET', path: '/things', by: 'daemon', reply: v.any() },
    send: {
      method: 'POST',
      path: '/forms',
      by: 'daemon',
      errors: ['invalid_request'],
      form: true,
      limit: 100,
      body: v.object({ a: v.optional(v.string()), b: v.optional(v.string()) }),
      reply: v.any(),
    },
    open: { method: 'GET', path: '/open', by: 'daemon', reply: v.any() },
  },
} as const satisfies Table

/** Every answer contains the input and the context that the gate passed on. */
const seen = async (input: unknown, context: unknown) => ({ input, ...(context as object) })

const start = (options: Partial<ServerOptions> = {}) =>
  listen({
    name: 'api',
    bind: '127.0.0.1',
    port: 0,
    log: newLog('error', () => undefined),
    dispatch: newDispatch<{ scope: 'full' }>(
      table,
      { things: { read: seen, send: seen, open: seen } },
      {
        need: (_, [first]) => (first === 'things' ? 'read' : 'none'),
        authenticate: ({ token }) => {
          if (token === 'bad') throw new AppError('invalid_token', 'no')
          return { scope: 'full' }
        },
        context: (_, request: Request) => {
          const { token, digest, scheme, proof, idempotencyKey } = request
          assert(token === null || digest === tokenDigest(token))
          return { token, scheme, proof, key: idempotencyKey }
        },
      },
    ),
    rules: openRules,
    ...options,
  })

let nonces = 0
let server: Listening
let plain: Listening
before(async () => {
  server = await start({ proofNonce: async () => `nonce-${(nonces += 1)}` })
  plain = await start()
})
after(() => Promise.all([server.close(0), plain.close(0)]))

const lines = (listening: Listening, path: string, fields: readonly string[]) => [
  `GET ${path} HTTP/1.1`,
  `Host: 127.0.0.1:${listening.port}`,
  ...fields,
  'Connection: close',
]
const get = async (listening: Listening, path: string, fields: readonly string[]) => {
  const at = `http://127.0.0.1:${listening.port}`
  const [answer = assert.fail()] = await exchange(at, lines(listening, path, fields))
  return { ...answer, json: JSON.parse(answer.body) as Record<string, unknown> }
}

const taken: [fields: string[], seen: { token: string; scheme: string; proof?: string }][] = [
  [['Authorization: Bearer t'], { token: 't', scheme: 'Bearer' }],
  [['authorization: bearer  t'], { token: 't', scheme: 'Bearer' }],
  [['Authorization: DPoP t', 'DPoP: p.p.p'], { token: 't', scheme: 'DPoP', proof: 'p.p.p' }],
  [['dpop: p', 'authorization: dpop t'], { token: 't', scheme: 'DPoP', proof: 'p' }],
  // A token without a proof is read too. Its issuer decides whether it is valid.
  [['Authorization: DPoP t'], { token: 't', scheme: 'DPoP' }],
  // A proof does not turn a token that was sent as Bearer into a bound one.
  [['Authorization: Bearer t', 'DPoP: p'], { token: 't', scheme: 'Bearer', proof: 'p' }],
]
for (const [fields, expected] of taken)
  test(`${fields.join(' · ')} is accepted`, async () => {
    const { status, json } = await get(server, '/things', fields)
    assert.equal(status, 200)
    assert.deepEqual(json, { input: {}, ...expected })
  })

const refused: [fields: string[], says: string][] = [
  [['Authorization: DPoP t', 'DPoP: p', 'DPoP: p'], '400 bad_request'],
  [['Authorization: DPoP t', 'DPoP: p', 'Authorization: Bearer t'], '400 bad_request'],
  [['Authorization: Bearer t', 'DPoP: p', 'dpop: q'], '400 bad_request'],
  [['DPoP: p'], '401 unauthorized'],
  [['Authorization: Basic dDp0', 'DPoP: p'], '401 unauthorized'],
  [['Authorization: DPoPt', 'DPoP: p'], '401 unauthorized'],
  [['Authorization: DPoP bad', 'DPoP: p'], '401 invalid_token'],
]
for (const [fields, says] of refused)
  test(`${fields.join(' · ')} → ${says}`, async () => {
    const { status, json } = await get(server, '/things', fields)
    assert.equal(`${status} ${String(json['error'])}`, says)
  })

test('a listener without proofs rejects bound tokens, and offers no nonce', async () => {
  const { status, headers } = await get(plain, '/things', ['Authorization: DPoP t', 'DPoP: p'])
  assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer'])
  const open = await get(plain, '/open', ['DPoP: p'])
  assert.deepEqual([open.status, open.json], [200, { input: {}, token: null, scheme: 'Bearer' }])
  assert.equal(open.headers['dpop-nonce'], undefined)
})

test('every answer to a request with a proof has a nonce, errors included; no other has', async () => {
  for (const [path, fields, status] of [
    ['/things', ['Authorization: DPoP t', 'DPoP: p'], 200],
    ['/things', ['Authorization: DPoP bad', 'DPoP: p'], 401],
    ['/things', ['DPoP: p'], 401],
    ['/nope', ['DPoP: p'], 404],
    ['/open', ['DPoP: p'], 200],
  ] as const) {
    const answer = await get(server, path, fields)
    assert.equal(answer.status, status)
    assert.equal(answer.headers['dpop-nonce'], `nonce-${nonces}`)
  }
  const { headers } = await get(server, '/things', ['Authorization: Bearer t'])
  assert.equal(headers['dpop-nonce'], undefined)
})

test('an unavailable nonce is an error of its own', async () => {
  const away = await start({
    proofNonce: async () => {
      throw new AppError('backend_unavailable', 'away')
    },
  })
  assert.equal((await get(away, '/open', ['DPoP: p'])).status, 503)
  assert.equal((await get(away, '/open', [])).status, 200)
  await away.close(0)
})

test('one connection can change token and scheme', async () => {
  const socket = connect(server.port, '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  const fields = [
    ['Authorization: Bearer one'],
    ['Authorization: Bearer one'],
    ['Authorization: DPoP one', 'DPoP: p'],
    ['Authorization: DPoP one'],
    ['Authorization: Bearer one', 'Connection: close'],
  ]
  const head = (more: readonly string[]) =>
    ['GET /things HTTP/1.1', `Host: 127.0.0.1:${server.port}`, ...more, '', ''].join('\r\n')
  socket.write(fields.map(head).join(''))
  await new Promise((resolve) => socket.once('close', resolve))
  const answers = answersIn(Buffer.concat(chunks).toString())
  assert.deepEqual(
    answers.map(({ status, body }) => [status, (JSON.parse(body) as { scheme?: string }).scheme]),
    [
      [200, 'Bearer'],
      [200, 'Bearer'],
      [200, 'DPoP'],
      [200, 'DPoP'],
      [200, 'Bearer'],
    ],
  )
})

const keys: [fields: string[], says: string | null][] = [
  [['Idempotency-Key: k'], 'k'],
  [['idempotency-key: "8e03978e-40d5"'], '"8e03978e-40d5"'],
  [[`Idempotency-Key: ${'k'.repeat(200)}`], 'k'.repeat(200)],
  [[`Idempotency-Key: ${'k'.repeat(201)}`], null],
  [['Idempotency-Key:'], null],
  [['Idempotency-Key: a b'], null],
  [['Idempotency-Key: schlüssel'], null],
  [['Idempotency-Key: a', 'Idempotency-Key: a'], null],
]
for (const [fields, key] of keys)
  test(`${fields.join(' · ').slice(0, 60)} is ${key === null ? 'rejected' : 'a key'}`, async () => {
    const { status, json } = await get(server, '/open', fields)
    if (key === null) assert.deepEqual([status, json['error']], [400, 'bad_request'])
    else assert.deepEqual([status, json['key']], [200, key])
  })

const FORM = 'application/x-www-form-urlencoded'
const forms: [body: string | undefined, type: string, says: unknown][] = [
  ['a=1&b=2', FORM, { a: '1', b: '2' }],
  ['a=x+y%20z%26%3D', `${FORM}; charset=UTF-8`, { a: 'x y z&=' }],
  ['a=%C3%A4', FORM.toUpperCase(), { a: 'ä' }],
  ['a=b=c&&', FORM, { a: 'b=c' }],
  // RFC 6749 section 3.2: a parameter without a value counts as omitted, and unknown ones are
  // ignored.
  ['a=&b&other=1', FORM, {}],
  [undefined, FORM, {}],
  ['a=1&a=2', FORM, 'invalid_request'],
  ['a=&a=2', FORM, 'invalid_request'],
  ['a=1&%61=2', FORM, 'invalid_request'],
  ['other=1&other=2', FORM, 'invalid_request'],
  ['a=%', FORM, 'invalid_request'],
  ['a=%C3', FORM, 'invalid_request'],
  ['a=ä', FORM, 'invalid_request'],
  [`a=${'x'.repeat(100)}`, FORM, 'payload_too_large'],
  ['{"a":"1"}', 'application/json', 'unsupported_media_type'],
  ['a=1', `${FORM}x`, 'unsupported_media_type'],
  ['a=1', `${FORM}; charset=latin1`, 'unsupported_media_type'],
]
for (const [body, type, says] of forms)
  test(`the form ${String(body).slice(0, 30)} as ${type} → ${JSON.stringify(says)}`, async () => {
    const headers = body === undefined ? {} : { 'Content-Type': type }
    const { json } = await ask(`http://127.0.0.1:${server.port}`, 'POST', '/forms', {
      body,
      headers,
    })
    const message = json as {
      error?: string
      error_description?: string
      input?: { body: unknown }
    }
    assert.deepEqual(message.error ?? message.input?.body, says)
    if (says === 'invalid_request') assert.match(message.error_description ?? '', /form/)
  })

test('a parameter cannot reach the prototype of the form', () => {
  const form = parseForm(Buffer.from('__proto__=x&constructor=y'))
  assert.equal(Object.getPrototypeOf(form), Object.prototype)
  assert.deepEqual(Object.keys(form), ['__proto__', 'constructor'])
})
