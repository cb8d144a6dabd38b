/**
 * The client’s handling of answers: correct ones, every malformed one, and errors in the common
 * shape.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { type ErrorCode } from '../../src/errors.ts'
import { valueOf } from '../../src/remote/answer.ts'
import { CLOCK, clientAt, json, refusal, scripted } from './scripted.ts'
import { rejects } from '../rejects.ts'

/** A text that no error message may repeat. */
const CANARY = 'canary-7f3a'
const SECRETIVE = new RegExp(`^(?!.*${CANARY})`, 's')

const raw =
  (status: number, headers: Record<string, string>, body = '') =>
  (res: ServerResponse) =>
    res.writeHead(status, headers).end(body)
const JSON_TYPE = { 'Content-Type': 'application/json' }
const MIB = 1024 * 1024

test('an answer is read by its row, without unknown members', async (t) => {
  const { base, seen } = await scripted(t, (res) => json(res, 200, { ...CLOCK, extra: 1 }))
  assert.deepEqual(await clientAt(t, base).door().clock.read({}), CLOCK)
  const { method, url, headers } = seen[0]!
  assert.deepEqual([method, url], ['GET', '/device/v1/clock'])
  assert.deepEqual(
    [headers.accept, headers['accept-encoding'], headers['content-type']],
    ['application/json', 'identity', undefined],
  )
  assert.deepEqual([headers.authorization, headers['dpop']], [undefined, undefined])
  assert.equal(headers['accept-language'], undefined)
})

test('only a request for a mail has the language of this machine', async (t) => {
  const answer = { email: 'ada@example.org', expires_at: CLOCK.now }
  const { base, seen } = await scripted(t, (res) => json(res, 202, answer))
  const { signIns } = clientAt(t, base).door()
  await signIns.create({ body: { email: 'ada@example.org' } })
  const { locale } = Intl.DateTimeFormat().resolvedOptions()
  assert.equal(seen[0]!.headers['accept-language'], locale)
})

test('an answer without content', async (t) => {
  const { base } = await scripted(t, raw(204, {}))
  const account = clientAt(t, base).bearer('csm_x')
  assert.equal(await account.guestCodes.delete({ id: 'gst_1' }), undefined)
})

test('requests share one kept connection, and none is kept after close', async (t) => {
  const server = await scripted(t, (res) => json(res, 200, CLOCK))
  const remote = clientAt(t, server.base)
  for (let i = 0; i < 5; i++) await remote.door().clock.read({})
  assert.equal(server.connections(), 1)
  remote.close()
  await rejects('backend_unavailable', remote.door().clock.read({}))
  assert.equal(server.seen.length, 5)
})

test('at most 64 connections at once', async (t) => {
  let waiting: (() => void)[] = []
  const server = await scripted(t, (res) => {
    waiting.push(() => json(res, 200, CLOCK))
    if (server.seen.length < 64) return
    for (const go of waiting) go()
    waiting = []
  })
  const { clock } = clientAt(t, server.base).door()
  await Promise.all(Array.from({ length: 100 }, () => clock.read({})))
  assert(server.connections() <= 64, `${server.connections()}`)
})

describe('an invalid answer', () => {
  const cases: [
    name: string,
    answer: (res: ServerResponse) => unknown,
    code: ErrorCode,
    says: RegExp,
  ][] = [
    ['a redirect', raw(302, { Location: `https://${CANARY}/` }), 'backend_error', /redirect.*302/],
    ['a redirect for good', raw(308, { Location: '/' }), 'backend_error', /redirect/],
    ['not modified', raw(304, {}), 'backend_error', /304/],
    [
      'an HTML page',
      raw(200, { 'Content-Type': 'text/html' }, CANARY),
      'backend_error',
      /not JSON/,
    ],
    ['JSON without its type', raw(200, {}, JSON.stringify(CLOCK)), 'backend_error', /not JSON/],
    ['no JSON', raw(200, JSON_TYPE, `{"now": ${CANARY}`), 'backend_error', /not JSON/],
    ['nothing', raw(200, JSON_TYPE), 'backend_error', /not JSON/],
    [
      'no UTF-8',
      (res) => res.writeHead(200, JSON_TYPE).end(Buffer.from([0x22, 0xff, 0x22])),
      'backend_error',
      /not JSON/,
    ],
    [
      'compressed',
      raw(200, { ...JSON_TYPE, 'Content-Encoding': 'gzip' }, JSON.stringify(CLOCK)),
      'backend_error',
      /not JSON/,
    ],
    ['another form', (res) => json(res, 200, { now: CANARY }), 'backend_error', /at now/],
    [
      'a time that Date cannot read',
      (res) => json(res, 200, { ...CLOCK, now: '2026-01-01T00:00:00+02' }),
      'backend_error',
      /at now/,
    ],
    ['a list', (res) => json(res, 200, [CANARY]), 'backend_error', /form/],
    ['null', (res) => json(res, 200, null), 'backend_error', /form/],
    ['another status', (res) => json(res, 201, CLOCK), 'backend_error', /status 201/],
    ['no content', raw(204, {}), 'backend_error', /status 204/],
    [
      'too large, as declared',
      raw(200, { ...JSON_TYPE, 'Content-Length': String(17 * MIB) }),
      'backend_error',
      /more than 16777216 bytes/,
    ],
    [
      'too large, undeclared',
      (res) => {
        res.writeHead(200, JSON_TYPE)
        const more = () => {
          while (!res.destroyed && res.write(Buffer.alloc(MIB, ' ')));
        }
        res.on('drain', more)
        more()
      },
      'backend_error',
      /more than 16777216 bytes/,
    ],
    [
      'endless headers',
      raw(200, { ...JSON_TYPE, 'X-Long': 'x'.repeat(64 * 1024) }),
      'backend_error',
      /HTTP\/1\.1/,
    ],
    ['no HTTP', (res) => res.socket!.end('220 smtp ready\r\n'), 'backend_error', /HTTP\/1\.1/],
  ]
  for (const [name, answer, code, says] of cases)
    test(name, async (t) => {
      const { base, seen } = await scripted(t, answer)
      const { message } = await rejects(code, clientAt(t, base).door().clock.read({}), { says })
      assert.match(message, SECRETIVE)
      assert(message.includes(base), 'it names the server')
      assert.equal(seen.length, 1, 'it is asked once')
    })
})

describe('an error in the common format is returned to the caller', () => {
  const cases: [status: number, body: Record<string, unknown>, headers?: Record<string, string>][] =
    [
      [404, refusal('not_found', 'There is no such connection.')],
      [409, refusal('invalid_state', 'It is paused.', { state: 'paused' })],
      [403, refusal('insufficient_scope', 'Too narrow.', { required_scope: 'full' })],
      [422, refusal('validation_failed', 'x', { issues: [{ path: 'a.b', message: 'm' }] })],
      [422, refusal('unknown_word', 'x', { word: 'w', suggestions: ['a', 'b'] })],
      [422, refusal('word_count', 'x', { found: 4 })],
      [401, refusal('invalid_token', 'The code is wrong.')],
      [401, refusal('invalid_client', 'x', { error_description: 'd' })],
    ]
  for (const [status, body] of cases)
    test(`${status} ${String(body['error'])}`, async (t) => {
      const { base, seen } = await scripted(t, (res) =>
        json(res, status, { ...body, secret: CANARY }, { 'Retry-After': '9', Allow: 'X' }),
      )
      const { error: code, message: _, ...details } = body
      const asked = clientAt(t, base).door().clock.read({})
      const error = await rejects(code as ErrorCode, asked, details)
      assert.deepEqual(error.toJSON(), body)
      assert.deepEqual(error.headers, {})
      assert.equal(seen.length, 1)
    })

  test('429 has the time to wait', async (t) => {
    for (const [given, stored] of [
      ['120', { 'Retry-After': '120' }],
      ['Wed, 21 Oct 2026 07:28:00 GMT', {}],
      ['99999', {}],
      ['-1', {}],
    ] as const) {
      const { base, seen } = await scripted(t, (res) =>
        json(res, 429, refusal('rate_limited'), { 'Retry-After': given }),
      )
      const { headers } = await rejects('rate_limited', clientAt(t, base).door().clock.read({}))
      assert.deepEqual([headers, seen.length], [stored, 1])
    }
  })

  test('its text is shortened, without control characters', async (t) => {
    const evil = `a\u001b[2Jb\r\nc\u202ed\u0000\ud800${'xxx '.repeat(500)}`
    const { base } = await scripted(t, (res) =>
      json(
        res,
        422,
        refusal('unknown_word', evil, { word: evil, suggestions: Array(50).fill(evil) }),
      ),
    )
    const asked = clientAt(t, base).door().clock.read({})
    const { message, details } = await rejects('unknown_word', asked)
    const { word = '', suggestions = [] } = details
    assert.equal(suggestions.length, 20)
    for (const text of [message, word, ...suggestions]) {
      assert(text.startsWith('a [2Jb c d \ufffdxxx'), JSON.stringify(text.slice(0, 20)))
      assert(text.length <= 500)
    }
  })

  test('details of other kinds are removed', async (t) => {
    const { base } = await scripted(t, (res) =>
      json(
        res,
        422,
        refusal('validation_failed', 'x', {
          issues: [{ path: 1 }],
          found: 'four',
          word: {},
          suggestions: 'a',
          state: null,
        }),
      ),
    )
    const asked = clientAt(t, base).door().clock.read({})
    const { details } = await rejects('validation_failed', asked)
    assert.deepEqual(details, {})
  })
})

describe('an error in another format', () => {
  const cases: [name: string, status: number, body: unknown][] = [
    ['an unknown code', 409, refusal('moon_phase', CANARY)],
    ['a code of another status', 404, refusal('invalid_token', CANARY)],
    ['a code that is a property of every object', 404, refusal('constructor', CANARY)],
    ['no message', 404, { error: 'not_found' }],
    ['an invalid message', 404, { error: 'not_found', message: [CANARY] }],
    ['an OAuth error', 400, { error: 'invalid_grant', error_description: CANARY }],
    ['a teapot', 418, { short: CANARY }],
    ['an internal error', 500, refusal('internal', CANARY)],
    ['an unimplemented route', 501, refusal('not_implemented', CANARY)],
    ['a full disk of the server', 507, refusal('storage_full', CANARY)],
  ]
  for (const [name, status, body] of cases)
    test(name, async (t) => {
      const { base, seen } = await scripted(t, (res) => json(res, status, body))
      const error = await rejects('backend_error', clientAt(t, base).door().clock.read({}))
      assert.match(error.message, SECRETIVE)
      assert.match(error.message, new RegExp(`${status}`))
      assert.equal(seen.length, 1)
    })

  test('advice appears once', async (t) => {
    const message = 'The assistant has no time now. Try again later.'
    const refused = refusal('backend_unavailable', message)
    const { base } = await scripted(t, (res) => json(res, 503, refused))
    const error = await rejects('backend_unavailable', clientAt(t, base).door().clock.read({}))
    assert.equal(error.message, `The account server ${base} reports: ${message}`)
  })

  test('504 of a proxy is a time-out', async (t) => {
    const { base } = await scripted(t, raw(504, { 'Content-Type': 'text/html' }, CANARY))
    const error = await rejects('backend_timeout', clientAt(t, base).door().clock.read({}))
    assert.match(error.message, SECRETIVE)
  })
})

describe('the bearer of a machine token', () => {
  test('sends only the token', async (t) => {
    const bearer = {
      account_id: 'acc_00000000000000000000000000',
      token_id: 'tok_00000000000000000000000000',
      scope: 'read',
      expires_at: null,
    }
    const { base, seen } = await scripted(t, (res) => json(res, 200, bearer))
    assert.deepEqual(await clientAt(t, base).bearer('csm_secret').bearer.read({}), bearer)
    assert.equal(seen[0]!.headers.authorization, 'Bearer csm_secret')
    assert.equal(seen[0]!.headers['dpop'], undefined)
  })

  test('gets a rejection as the caller’s error', async (t) => {
    const { base, seen } = await scripted(t, (res) => json(res, 401, refusal('invalid_token')))
    const error = await rejects(
      'invalid_token',
      clientAt(t, base).bearer('csm_secret').context.read({}),
    )
    assert.deepEqual(error.headers, { 'WWW-Authenticate': 'Bearer error="invalid_token"' })
    assert.equal(seen.length, 1)
  })
})

test('a form is sent as a form', async (t) => {
  const token = { access_token: 'csm_1', token_type: 'Bearer', expires_in: 60, scope: 'read' }
  const { base, seen } = await scripted(t, (res) => json(res, 200, token))
  const body = { grant_type: 'client_credentials', client_assertion: 'a.b&c', client_id: undefined }
  assert.deepEqual(
    await clientAt(t, base)
      .door()
      .oauth.token({ body: body as { grant_type: string; client_assertion: string } }),
    token,
  )
  const [{ headers, body: sent }] = seen as [(typeof seen)[number]]
  assert.equal(headers['content-type'], 'application/x-www-form-urlencoded')
  assert.equal(sent, 'grant_type=client_credentials&client_assertion=a.b%26c')
})

test('an id that no server accepts in a path is not sent', async (t) => {
  const server = await scripted(t, (res) => json(res, 200, {}))
  const { connections } = clientAt(t, server.base).bearer('csm_x')
  for (const id of ['con_\0', 'a/b', '%2e', 'ä', '..', '', '\ud800', 'a?b', 'a#b'])
    await rejects('not_found', connections.read({ id }))
  assert.equal(server.seen.length, 0)
})

test('an account has exactly the rows that an account answers', () => {
  const remote = clientAt({ after: () => undefined } as never, 'http://127.0.0.1:9')
  const account = remote.bearer('csm_x')
  const { acting, ...groups } = account
  assert.deepEqual(Object.keys(acting({ id: new Uint8Array(16) })), Object.keys(groups))
  const rows = groups as unknown as Record<string, object>
  assert.deepEqual(Object.keys(rows['connections']!).includes('code'), false)
  for (const none of ['verify', 'status', 'token', 'apiTokens', 'stamp', 'signIns'])
    assert.equal(rows[none], undefined, none)
  assert('read' in rows['keyLogs']! && 'favorite' in rows['connections']!)
})

test('content is accepted in the media types of its row', () => {
  const route = {
    method: 'GET',
    path: '/picture',
    by: 'account',
    media: ['image/gif', 'image/svg+xml'],
  } as const
  const body = Buffer.from('GIF')
  const of = (type: string) => ({
    status: 200,
    headers: { 'content-type': type },
    body,
    sentAt: 0,
    answeredAt: 0,
  })
  assert.deepEqual(valueOf(of('image/gif'), route, 'https://a.example'), {
    type: 'image/gif',
    body,
    headers: {},
  })
  assert.throws(() => valueOf(of('text/html'), route, 'https://a.example'), {
    code: 'backend_error',
  })
})

for (const [status, code] of [
  [502, 'backend_error'],
  [503, 'backend_unavailable'],
] as const)
  test(`an outage behind the server is returned to the caller: ${code}`, async (t) => {
    const message = 'The mail could not be sent.'
    const server = await scripted(t, (res) => json(res, status, { error: code, message }))
    const error = await rejects(code, clientAt(t, server.base).door().clock.read({}))
    assert(error.message.includes(message))
  })

test('429 of a proxy is returned with its Retry-After', async (t) => {
  const headers = { 'Content-Type': 'text/html', 'Retry-After': '7' }
  const server = await scripted(t, raw(429, headers, CANARY))
  const error = await rejects('rate_limited', clientAt(t, server.base).door().clock.read({}))
  assert.deepEqual(error.headers, { 'Retry-After': '7' })
  assert.match(error.message, SECRETIVE)
})
