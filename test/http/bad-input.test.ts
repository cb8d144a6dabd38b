/**
 * Tests bad input over HTTP: each kind has its own code and message, and the daemon continues.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { Page } from '../../src/api/fields.ts'
import { rest } from '../../src/api/rest/index.ts'
import type { Route } from '../../src/api/route.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { type Answer, type TestDaemon, startDaemon } from '../daemon.ts'
import { activeOrganisation } from '../handlers/people.ts'

let daemon: TestDaemon
let token: string
let connection: string
let guest: string

before(async () => {
  daemon = await startDaemon()
  token = await daemon.token('full')
  const made = async (path: string, body: object) =>
    ((await daemon.request('POST', path, { token, body })).json as { id: string }).id
  connection = await made('/api/v1/connections', { name: 'c' })
  guest = await made('/api/v1/guest-codes', { label: 'g' })
  // Without an active organisation, its routes answer only that error.
  await activeOrganisation(daemon)
})
after(() => daemon.close())
afterEach(async () => {
  assert.equal((await daemon.request('GET', '/health')).status, 200)
})

interface ErrorBody {
  error: string
  message: string
  issues?: { path: string; message: string }[]
  found?: number
  word?: string
  suggestions?: string[]
}
const errorIn = ({ json }: Answer) => json as ErrorBody
const says = (answer: Answer) => `${answer.status} ${errorIn(answer)?.error}`

/** Replaces the placeholders CON and GST by the ids of this test. */
const fill = (text: string) => text.replace('CON', connection).replace('GST', guest)

const VALIDATION = '422 validation_failed'
const INVALID_JSON = '400 invalid_json'

type Case = [route: string, body: unknown, says: string, path?: string]
const bodies: Case[] = [
  ['POST /api/v1/token', '{', INVALID_JSON],
  ['POST /api/v1/token', '{"name":"n","scope":"read"', INVALID_JSON],
  ['POST /api/v1/token', 'name=n', INVALID_JSON],
  ['POST /api/v1/token', undefined, VALIDATION, ''],
  ['POST /api/v1/token', null, VALIDATION, ''],
  ['POST /api/v1/token', [], VALIDATION, ''],
  ['POST /api/v1/token', '"text"', VALIDATION, ''],
  ['POST /api/v1/token', '7', VALIDATION, ''],
  ['POST /api/v1/token', {}, VALIDATION, 'name'],
  ['POST /api/v1/token', { name: 'n' }, VALIDATION, 'scope'],
  ['POST /api/v1/token', { name: 'n', scope: 'admin' }, VALIDATION, 'scope'],
  ['POST /api/v1/token', { name: 'n', scope: 'READ' }, VALIDATION, 'scope'],
  ['POST /api/v1/token', { name: 'n', scope: ['read'] }, VALIDATION, 'scope'],
  ['POST /api/v1/token', { name: 5, scope: 'read' }, VALIDATION, 'name'],
  ['POST /api/v1/token', { name: '', scope: 'read' }, VALIDATION, 'name'],
  ['POST /api/v1/token', { name: '  ', scope: 'read' }, VALIDATION, 'name'],
  ['POST /api/v1/token', { name: 'a\nb', scope: 'read' }, VALIDATION, 'name'],
  ['POST /api/v1/token', { name: 'a\u202eb', scope: 'read' }, VALIDATION, 'name'],
  ['POST /api/v1/token', { name: 'a'.repeat(101), scope: 'read' }, VALIDATION, 'name'],
  ['POST /api/v1/token', { name: 'n', scope: 'read', admin: true }, VALIDATION, 'admin'],
  ['POST /api/v1/token', { name: 'n', scope: 'read', expires_in: 0 }, VALIDATION, 'expires_in'],
  ['POST /api/v1/token', { name: 'n', scope: 'read', expires_in: -1 }, VALIDATION, 'expires_in'],
  ['POST /api/v1/token', { name: 'n', scope: 'read', expires_in: 1.5 }, VALIDATION, 'expires_in'],
  ['POST /api/v1/token', { name: 'n', scope: 'read', expires_in: '60' }, VALIDATION, 'expires_in'],
  ['POST /api/v1/token', { name: 'n', scope: 'read', expires_in: 1e12 }, VALIDATION, 'expires_in'],
  [
    'POST /api/v1/token',
    '{"name":"n","scope":"read","expires_in":1e999}',
    VALIDATION,
    'expires_in',
  ],
  ['POST /api/v1/api-tokens', { name: 'n', scope: 'root' }, VALIDATION, 'scope'],

  ['POST /api/v1/connections', {}, VALIDATION, 'name'],
  ['POST /api/v1/connections', { name: 'n', secret: 'x' }, VALIDATION, 'secret'],
  ['PATCH /api/v1/connections/CON', [], VALIDATION, ''],
  ['PATCH /api/v1/connections/CON', { favorite: 'yes' }, VALIDATION, 'favorite'],
  ['PATCH /api/v1/connections/CON', { epoch: 7 }, VALIDATION, 'epoch'],
  ['POST /api/v1/connections/CON/favorite', [], VALIDATION, ''],
  ['POST /api/v1/connections/CON/favorite', { favorite: 1 }, VALIDATION, 'favorite'],
  ['DELETE /api/v1/connections/CON', { really: true }, VALIDATION, 'really'],
  ['POST /api/v1/sync', { full: true }, VALIDATION, 'full'],

  ['POST /api/v1/guest-codes', { label: 'g', expires_in: 59 }, VALIDATION, 'expires_in'],
  ['POST /api/v1/guest-codes', { label: 'g', expires_in: 1e9 }, VALIDATION, 'expires_in'],
  ['POST /api/v1/guest-codes', { label: { text: 'g' } }, VALIDATION, 'label'],

  ['POST /api/v1/stamp', {}, VALIDATION, ''],
  ['POST /api/v1/stamp', { content: 'a', sha256: 'a'.repeat(64) }, VALIDATION, ''],
  ['POST /api/v1/stamp', { content: 'a', content_base64: 'YQ==' }, VALIDATION, ''],
  ['POST /api/v1/stamp', { content_base64: 'not base64' }, VALIDATION, 'content_base64'],
  ['POST /api/v1/stamp', { content_base64: 'YQ' }, VALIDATION, 'content_base64'],
  ['POST /api/v1/stamp', { sha256: 'a'.repeat(63) }, VALIDATION, 'sha256'],
  ['POST /api/v1/stamp', { sha256: 'A'.repeat(64) }, VALIDATION, 'sha256'],
  ['POST /api/v1/stamp', { content: 'a', media_type: 'text' }, VALIDATION, 'media_type'],
  [
    'POST /api/v1/stamp',
    { content: 'a', media_type: 'text/plain\r\nX: y' },
    VALIDATION,
    'media_type',
  ],
  ['POST /api/v1/stamp', { content: 'a', context: 'c'.repeat(501) }, VALIDATION, 'context'],
  ['POST /api/v1/stamp', { content: 5 }, VALIDATION, 'content'],

  ['POST /api/v1/verify', {}, VALIDATION, 'words'],
  ['POST /api/v1/verify', { words: 5 }, VALIDATION, 'words'],
  ['POST /api/v1/verify', { words: 'a'.repeat(201) }, VALIDATION, 'words'],
  ['POST /api/v1/verify', { words: Array(17).fill('a') }, VALIDATION, 'words'],
  ['POST /api/v1/verify', { words: ['a', 5, 'b'] }, VALIDATION],
]

describe('bodies', () => {
  for (const [route, body, expected, path] of bodies)
    test(`${route} ${(JSON.stringify(body) ?? 'nothing').slice(0, 90)} → ${expected} ${path ?? ''}`, async () => {
      const [method = '', target = ''] = fill(route).split(' ')
      const sent = body === null ? 'null' : body
      const answer = await daemon.request(method, target, { token, body: sent })
      assert.equal(says(answer), expected)
      const { message, issues } = errorIn(answer)
      assert.match(message, /\S/)
      if (path === undefined) return
      assert.equal(issues?.[0]?.path, path)
      assert.match(issues[0].message, /\S/)
    })

  test('alternative fields are named in the error', async () => {
    const either = /Give either "email" or "user_id"/
    for (const [path, field, wrong] of [
      ['/api/v1/connections/CON/members', '', {}],
      ['/api/v1/connections/CON/members', '', { email: 'a@example.org', user_id: 'acc_x' }],
      ['/api/v1/connections/CON/members', '', { email: 'a@example.org', role: 'owner' }],
      ['/api/v1/connections', 'invite.0', { name: 'n', invite: [{}] }],
      ['/api/v1/trust-cards', '', {}],
      ['/api/v1/trust-cards', '', { mail: 'a@example.org' }],
    ] as const) {
      const answer = await daemon.request('POST', fill(path), { token, body: wrong })
      assert.equal(says(answer), VALIDATION)
      const { message, issues } = errorIn(answer)
      assert.match(message, either)
      assert.deepEqual([issues?.length, issues?.[0]?.path], [1, field])
    }
  })

  test('an answer has a limited length for any input', async () => {
    for (const body of [
      { name: 'n', scope: 'x'.repeat(500_000) },
      { name: 'n', scope: 'read', ['x'.repeat(500_000)]: 1 },
      { name: 'n', scope: Array(49_000).fill('x') },
    ]) {
      const answer = await daemon.request('POST', '/api/v1/token', { body })
      assert.equal(says(answer), VALIDATION)
      assert(answer.text.length < 2_000, String(answer.text.length))
    }
    const answer = await daemon.request('POST', '/api/v1/verify', {
      token,
      body: { words: Array(49_000).fill(5) },
    })
    assert.equal(says(answer), VALIDATION)
    assert(answer.text.length < 12_000, String(answer.text.length))
  })

  test('the error for malformed JSON names the place and not the content', async () => {
    const answer = await daemon.request('POST', '/api/v1/token', { body: '{"name":"canary",}' })
    assert.equal(says(answer), INVALID_JSON)
    assert.match(answer.text, /position \d+/)
    assert(!answer.text.includes('canary'))
  })
})

describe('words', () => {
  const words: [words: unknown, says: string, details: Partial<ErrorBody>][] = [
    ['', '422 word_count', { found: 0 }],
    ['   ', '422 word_count', { found: 0 }],
    ['matador', '422 word_count', { found: 1 }],
    ['matador carload', '422 word_count', { found: 2 }],
    ['matador carload recede matador', '422 word_count', { found: 4 }],
    [[], '422 word_count', { found: 0 }],
    [['matador', 'carload'], '422 word_count', { found: 2 }],
    ['matador carload qqqqq', '422 unknown_word', { word: 'qqqqq' }],
    ['matador carlod recede', '422 unknown_word', { word: 'carlod' }],
    [['matador', 'carload', 'résumé'], '422 unknown_word', {}],
  ]
  for (const [given, expected, details] of words)
    test(`${JSON.stringify(given)} → ${expected}`, async () => {
      const answer = await daemon.request('POST', '/api/v1/verify', {
        token,
        body: { words: given },
      })
      assert.equal(says(answer), expected)
      assert.partialDeepStrictEqual(errorIn(answer), details)
      if (expected.endsWith('unknown_word')) assert(Array.isArray(errorIn(answer).suggestions))
    })

  test('a misheard word gets suggestions', async () => {
    const answer = await daemon.request('POST', '/api/v1/verify', {
      token,
      body: { words: 'matador carlod recede' },
    })
    assert(errorIn(answer).suggestions?.includes('carload'))
  })
})

describe('queries', () => {
  /** Returns whether a list has pages; it may have filters too. */
  const isPaged = ({ query }: Route) =>
    query !== undefined &&
    'entries' in query &&
    Object.keys(Page.entries).every((name) => name in (query.entries as object))
  /** Every list that has pages and a path without an id. */
  const LISTS = rowsOf(rest).flatMap(({ route }) =>
    isPaged(route) && !route.path.includes('{') ? [route.path.replace('/api/v1/', '')] : [],
  )
  test('the interface has lists', () => assert(LISTS.length >= 14, String(LISTS)))

  const queries: [query: string, says: string][] = [
    ...['0', '201', '-1', 'x', '', '1.5', '5&limit=6'].map((limit): [string, string] => [
      `limit=${limit}`,
      VALIDATION,
    ]),
    ['page=2', VALIDATION],
    ['cursor=a&cursor=b', VALIDATION],
    [`cursor=${'a'.repeat(201)}`, VALIDATION],
    ['cursor=', '400 bad_request'],
    ['cursor=*', '400 bad_request'],
    ['cursor=AAAA', '400 bad_request'],
    ['cursor=____', '400 bad_request'],
    [`cursor=${btoa('acc_01k9zq3v5w8x2y4z6a8b0c2d4e').replace(/=/g, '')}`, '400 bad_request'],
    ["cursor=' or 1=1 --", '400 bad_request'],
  ]
  for (const list of LISTS)
    for (const [query, expected] of queries)
      test(`${list}?${query.slice(0, 60)} → ${expected}`, async () => {
        const answer = await daemon.request('GET', `/api/v1/${list}?${encodeURI(query)}`, { token })
        assert.equal(says(answer), expected)
      })

  for (const list of LISTS)
    test(`${list} takes limits from 1 to 200`, async () => {
      for (const limit of [1, 200])
        assert.equal(
          (await daemon.request('GET', `/api/v1/${list}?limit=${limit}`, { token })).status,
          200,
        )
    })

  test('the profile keys of an account are a list like the others', async () => {
    const { json } = await daemon.request('GET', '/api/v1/context', { token })
    const { id } = (json as { user: { id: string } }).user
    const keys = (query: string) =>
      daemon.request('GET', `/api/v1/profiles/${id}/keys?${query}`, { token })
    assert.equal((await keys('limit=1')).status, 200)
    assert.equal(says(await keys('limit=0')), VALIDATION)
  })

  test('a path without a query rejects one', async () => {
    for (const path of [
      'status',
      'sync',
      'openapi.json',
      'connections/CON',
      'guest-codes/GST/qr?format=svg&x=1',
    ])
      assert.equal(
        says(
          await daemon.request('GET', fill(`/api/v1/${path}${path.includes('?') ? '' : '?x=1'}`), {
            token,
          }),
        ),
        VALIDATION,
      )
    assert.equal(
      says(await daemon.request('GET', fill('/api/v1/guest-codes/GST/qr?format=png'), { token })),
      VALIDATION,
    )
  })
})

describe('ids', () => {
  const ROUTES = [
    'GET /api/v1/connections/{con_}',
    'PATCH /api/v1/connections/{con_}',
    'DELETE /api/v1/connections/{con_}',
    'GET /api/v1/connections/{con_}/code',
    'POST /api/v1/connections/{con_}/favorite',
    'DELETE /api/v1/guest-codes/{gst_}',
    'GET /api/v1/guest-codes/{gst_}/qr',
    'GET /api/v1/profiles/{acc_}/keys',
    'DELETE /api/v1/api-tokens/{tok_}',
  ]
  const BODY = '01k9zq3v5w8x2y4z6a8b0c2d4e'
  const ids = (prefix: string): string[] => [
    'x',
    '0',
    '-1',
    'null',
    'constructor',
    '__proto__',
    BODY,
    prefix,
    `${prefix}${BODY}`,
    `${prefix}${BODY}0`,
    `${prefix}${BODY.slice(1)}`,
    `${prefix}${BODY.toUpperCase()}`,
    `${prefix}8${BODY.slice(1)}`,
    `${prefix}${BODY.slice(0, -1)}u`,
    `${prefix.toUpperCase()}${BODY}`,
    'a'.repeat(5_000),
    // Ids that exist, but of another kind of resource.
    ...(prefix === 'con_' ? [guest] : [connection]),
  ]
  for (const route of ROUTES)
    test(`${route} → 404 for a malformed id, and for one of another kind`, async () => {
      const [method = '', path = ''] = route.split(' ')
      const prefix = /{(\w+)}/.exec(path)?.[1] ?? assert.fail()
      for (const id of ids(prefix)) {
        const body = method === 'PATCH' ? { name: 'n' } : undefined
        const answer = await daemon.request(method, path.replace(/{\w+}/, id), { token, body })
        assert.equal(says(answer), '404 not_found', id.slice(0, 60))
      }
    })

  test('deleted objects are gone; revoked ones stay revoked', async () => {
    const make = async (path: string, body: object) =>
      ((await daemon.request('POST', path, { token, body })).json as { id: string }).id
    const remove = async (path: string) => (await daemon.request('DELETE', path, { token })).status
    const path = `/api/v1/connections/${await make('/api/v1/connections', { name: 'n' })}`
    assert.deepEqual([await remove(path), await remove(path)], [204, 404])
    const revoked = `/api/v1/guest-codes/${await make('/api/v1/guest-codes', { label: 'n' })}`
    assert.deepEqual([await remove(revoked), await remove(revoked)], [204, 204])
    const answer = await daemon.request('GET', `${revoked}/qr`, { token })
    assert.equal(says(answer), '409 invalid_state')
    assert.equal((answer.json as { state: string }).state, 'revoked')
    const gone = `/api/v1/api-tokens/${await make('/api/v1/api-tokens', { name: 'n', scope: 'read' })}`
    assert.deepEqual([await remove(gone), await remove(gone)], [204, 204])
  })
})

test('the log contains no part of an invalid request', async () => {
  const canary = 'canary7f3a'
  const wrong = { token: `csd_${canary}`, headers: { 'X-Canary': canary, 'User-Agent': canary } }
  await daemon.request('GET', `/api/v1/status?q=${canary}`, wrong)
  await daemon.request('GET', `/api/v1/${canary}`, { token })
  await daemon.request('GET', `/api/v1/${canary}%00`, { token })
  await daemon.request('POST', '/api/v1/token', { body: `{"name":"${canary}"` })
  await daemon.request('POST', '/api/v1/token', { body: { name: canary, scope: canary } })
  await daemon.request('POST', '/api/v1/token', {
    body: { name: 'n', scope: 'read', label: canary },
  })
  await daemon.request('POST', '/api/v1/verify', { token, body: { words: canary } })
  await daemon.request('POST', '/api/v1/stamp', {
    token,
    body: { content: canary, context: canary },
  })
  await daemon.request('GET', '/health', { headers: { Origin: `http://${canary}` } })
  await daemon.request('GET', '/health', { headers: { Authorization: `Basic ${canary}` } })
  const all = daemon.log.join('')
  assert(daemon.log.length > 50)
  assert(
    !all.includes(canary),
    daemon.log.find((line) => line.includes(canary)),
  )
  assert(!all.includes(token.slice(4)))
})

test('no request of this file made the daemon fail', () => {
  assert.deepEqual(
    daemon.log.filter((line) => line.includes('"level":"error"')),
    [],
  )
})
