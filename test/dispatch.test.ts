/** The dispatcher, over any table: authorize → find → validate → answer, in this order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as v from 'valibot'
import { Page } from '../src/api/fields.ts'
import { type Table } from '../src/api/route.ts'
import type { Need, AccessLevel } from '../src/auth/scopes.ts'
import { type Gate, type Request, newDispatch } from '../src/http/dispatch.ts'
import { rowsOf } from '../src/api/rows.ts'
import { AppError, type ErrorCode } from '../src/errors.ts'
import { rejects } from './rejects.ts'

const table = {
  things: {
    list: {
      method: 'GET',
      path: '/things',
      by: 'daemon',
      query: Page,
      reply: v.array(v.any()),
    },
    create: {
      method: 'POST',
      path: '/things',
      also: '/flat-things',
      by: 'daemon',
      body: v.strictObject({ name: v.string(), size: v.optional(v.number(), 3) }),
      reply: v.object({ id: v.string() }),
      status: 201,
    },
    read: { method: 'GET', path: '/things/{id}', by: 'daemon', reply: v.any() },
    delete: { method: 'DELETE', path: '/things/{id}', by: 'daemon', status: 204 },
    favorite: {
      method: 'POST',
      path: '/things/{id}/favorite',
      by: 'daemon',
      body: v.optional(v.strictObject({ favorite: v.optional(v.boolean(), true) }), {}),
      reply: v.any(),
    },
    load: {
      method: 'POST',
      path: '/load',
      by: 'daemon',
      body: v.any(),
      limit: 7,
      reply: v.any(),
    },
    send: {
      method: 'POST',
      path: '/send',
      by: 'daemon',
      status: 202,
      reply: v.object({ id: v.string() }),
    },
    orphan: {
      method: 'POST',
      path: '/orphans',
      by: 'daemon',
      status: 201,
      reply: v.any(),
    },
    tally: {
      method: 'POST',
      path: '/tally',
      by: 'daemon',
      body: v.strictObject({ list: v.array(v.number()) }),
      reply: v.any(),
    },
  },
  pages: {
    read: { method: 'GET', path: '/page', by: 'daemon', media: ['text/html'] },
  },
} as const satisfies Table

/** Each handler returns the input and the context that it received. */
const seen = async (input: unknown, context: unknown) => ({ id: 'new', input, context })
const answers = {
  things: Object.fromEntries(Object.keys(table.things).map((name) => [name, seen])),
  pages: { read: seen },
}

type Caller = { scope: AccessLevel }
const SCOPES: Record<string, AccessLevel> = {
  r: 'read',
  w: 'write',
  f: 'full',
  d: 'device',
  s: 'session',
  o: 'owner',
}
const gateOf = (need: Need): Gate<Caller> => ({
  need: () => need,
  authenticate: ({ token }) => {
    const scope = SCOPES[token]
    if (scope === undefined) throw new AppError('invalid_token', 'no')
    return { scope }
  },
  context: (caller, { accept }) => ({ scope: caller?.scope ?? null, accept }),
})
const dispatchWith = (need: Need) => newDispatch<Caller>(table, answers, gateOf(need))

const request = (
  method: string,
  target: string,
  more: Partial<Request> & { given?: unknown } = {},
): Request => {
  const [path = '', query = ''] = target.split('?')
  const { given, ...rest } = more
  return {
    id: 'request',
    peer: () => 1000,
    method,
    segments: path.slice(1).split('/'),
    query,
    accept: '',
    token: null,
    body: async () => given,
    ...rest,
  }
}
const open = dispatchWith('none')
const input = async (req: Request) => ((await open(req)).value as { input: unknown }).input

const good: [method: string, target: string, given: unknown, input: unknown][] = [
  ['GET', '/things', undefined, { limit: 50 }],
  ['GET', '/things?limit=5&cursor=c', undefined, { limit: 5, cursor: 'c' }],
  ['HEAD', '/things', undefined, { limit: 50 }],
  ['GET', '/things/x', undefined, { id: 'x' }],
  ['GET', '/things/__proto__', undefined, { id: '__proto__' }],
  ['DELETE', '/things/x', undefined, { id: 'x' }],
  ['DELETE', '/things/x', {}, { id: 'x' }],
  ['POST', '/things', { name: 'n' }, { body: { name: 'n', size: 3 } }],
  ['POST', '/flat-things', { name: 'n', size: 1 }, { body: { name: 'n', size: 1 } }],
  ['POST', '/things/x/favorite', undefined, { id: 'x', body: { favorite: true } }],
  ['POST', '/things/x/favorite', {}, { id: 'x', body: { favorite: true } }],
  ['POST', '/things/x/favorite', { favorite: false }, { id: 'x', body: { favorite: false } }],
  ['GET', '/page', undefined, {}],
  // Mail programs append parameters of their own to a link.
  ['GET', '/page?utm_source=mail', undefined, {}],
]
for (const [method, target, given, expected] of good)
  test(`${method} ${target} with ${JSON.stringify(given)} is answered with ${JSON.stringify(expected)}`, async () => {
    assert.deepEqual(await input(request(method, target, { given })), expected)
  })

const bad: [method: string, target: string, given: unknown, code: string, path?: string][] = [
  ['GET', '/nope', undefined, 'no_such_route'],
  ['GET', '/things/x/y', undefined, 'no_such_route'],
  ['PUT', '/things', undefined, 'method_not_allowed'],
  ['GET', '/load', undefined, 'method_not_allowed'],
  ['GET', '/flat-things', undefined, 'method_not_allowed'],
  ['GET', '/things?limit=0', undefined, 'validation_failed', 'limit'],
  ['GET', '/things?limit=x', undefined, 'validation_failed', 'limit'],
  ['GET', '/things?other=1', undefined, 'validation_failed', 'other'],
  ['GET', '/things?id=1', undefined, 'validation_failed', 'id'],
  ['GET', '/things?body=1', undefined, 'validation_failed', 'body'],
  ['GET', '/things/x?a=1', undefined, 'validation_failed', 'a'],
  ['GET', '/things/x?id=y', undefined, 'validation_failed', 'id'],
  ['DELETE', '/things/x?force=true', undefined, 'validation_failed', 'force'],
  ['DELETE', '/things/x', { force: true }, 'validation_failed', 'force'],
  ['DELETE', '/things/x', [], 'validation_failed'],
  ['DELETE', '/things/x', null, 'validation_failed', ''],
  ['POST', '/things', undefined, 'validation_failed', ''],
  ['POST', '/things', null, 'validation_failed', ''],
  ['POST', '/things', [], 'validation_failed'],
  ['POST', '/things', 'name', 'validation_failed', ''],
  ['POST', '/things', {}, 'validation_failed', 'name'],
  ['POST', '/things', { name: 1 }, 'validation_failed', 'name'],
  ['POST', '/things', { name: 'n', size: '3' }, 'validation_failed', 'size'],
  ['POST', '/things', { name: 'n', Size: 3 }, 'validation_failed', 'Size'],
  ['POST', '/things?x=1', { name: 'n' }, 'validation_failed', 'x'],
]
for (const [method, target, given, code, path] of bad)
  test(`${method} ${target} with ${JSON.stringify(given)} → ${code} ${path ?? ''}`, async () => {
    await assert.rejects(open(request(method, target, { given })), (error) => {
      assert(error instanceof AppError)
      assert.equal(error.code, code)
      if (path !== undefined) assert.equal(error.details.issues?.[0]?.path, path)
      return true
    })
  })

test('every error of a request is listed', async () => {
  await assert.rejects(
    open(request('POST', '/things', { given: { size: 'x', more: 1 } })),
    (error) => {
      assert(error instanceof AppError)
      assert.deepEqual(error.details.issues?.map(({ path }) => path).toSorted(), [
        'more',
        'name',
        'size',
      ])
      return true
    },
  )
})

test('an answer lists a limited number of errors', async () => {
  const list = Array<string>(50_000).fill('x'.repeat(500))
  await assert.rejects(open(request('POST', '/tally', { given: { list } })), (error) => {
    assert(error instanceof AppError)
    assert.equal(error.details.issues?.length, 20)
    assert(JSON.stringify(error).length < 10_000)
    return true
  })
})

test('a wrong method: the error names the right ones', async () => {
  await assert.rejects(open(request('PUT', '/things')), (error) => {
    assert(error instanceof AppError)
    assert.deepEqual(error.headers, { Allow: 'GET, POST, HEAD' })
    return true
  })
})

const statuses: [method: string, target: string, status: number, location?: string][] = [
  ['GET', '/things', 200],
  ['POST', '/things', 201, '/things/new'],
  ['POST', '/flat-things', 201, '/things/new'],
  ['POST', '/orphans', 201],
  ['POST', '/send', 202],
  ['DELETE', '/things/x', 204],
]
for (const [method, target, status, location] of statuses)
  test(`${method} ${target} answers ${status} ${location ?? ''}`, async () => {
    const given = target.endsWith('things') && method === 'POST' ? { name: 'n' } : undefined
    const answer = await open(request(method, target, { given }))
    assert.deepEqual([answer.status, answer.location], [status, location])
  })

test('a page is distinguished from JSON', async () => {
  assert.equal((await open(request('GET', '/page'))).media, true)
  assert.equal((await open(request('GET', '/things'))).media, false)
})

test('the body is read only if a row needs it, and up to the row’s limit', async () => {
  const limits: number[] = []
  const body = async (limit: number) => {
    limits.push(limit)
    return undefined
  }
  await open(request('GET', '/things', { body }))
  await open(request('GET', '/page', { body }))
  await assert.rejects(open(request('POST', '/nope', { body })))
  await assert.rejects(open(request('PUT', '/things', { body })))
  await assert.rejects(open(request('POST', '/later/x', { body })))
  await assert.rejects(open(request('DELETE', '/things/x?a=1', { body })))
  await assert.rejects(dispatchWith('write')(request('POST', '/load', { body })))
  await assert.rejects(dispatchWith('write')(request('POST', '/load', { body, token: 'r' })))
  assert.deepEqual(limits, [])
  await open(request('POST', '/load', { body }))
  await open(request('DELETE', '/things/x', { body }))
  assert.deepEqual(limits, [7, 1_048_576])
})

const doors: [need: Need, token: string | null, code: ErrorCode | null][] = [
  ['none', null, null],
  ['none', 'wrong', null],
  ['read', null, 'unauthorized'],
  ['read', 'wrong', 'invalid_token'],
  ['read', '', 'invalid_token'],
  ['read', 'r', null],
  ['write', 'r', 'insufficient_scope'],
  ['write', 'w', null],
  ['full', 'w', 'insufficient_scope'],
  ['full', 'f', null],
  ['session', null, 'unauthorized'],
  ['session', 's', null],
  // An API token of any scope is not a session.
  ['session', 'r', 'forbidden'],
  ['session', 'f', 'forbidden'],
  ['full', 's', null],
  // A device that awaits approval may read, and may call the routes of its own approval.
  ['read', 'd', null],
  ['device', 'd', null],
  ['write', 'd', 'forbidden'],
  ['session', 'd', 'forbidden'],
  ['device', 'f', 'forbidden'],
  // Routes that only the command line may call.
  ['owner', 'f', 'forbidden'],
  ['owner', 's', 'forbidden'],
  ['owner', 'o', null],
  ['full', 'o', null],
]
for (const [need, token, code] of doors)
  test(`need ${need}, token ${token} → ${code ?? 'in'}`, async () => {
    const dispatch = dispatchWith(need)
    const call = dispatch(request('GET', '/things', { token, accept: 'a/b' }))
    if (code !== null) return void (await rejects(code, call))
    const { context } = (await call).value as { context: unknown }
    // A public route does not look up the token.
    const scope = need === 'none' ? null : SCOPES[token as string]
    assert.deepEqual(context, { scope, accept: 'a/b' })
  })

test('errors reveal nothing about a route before the token is checked', async () => {
  for (const [method, target] of [
    ['GET', '/nope'],
    ['PUT', '/things'],
    ['POST', '/later/x'],
    ['POST', '/things?x'],
  ] as const) {
    const call = (token: string | null) => dispatchWith('write')(request(method, target, { token }))
    await rejects('unauthorized', call(null))
    await rejects('invalid_token', call('wrong'))
    await rejects('insufficient_scope', call('r'))
  }
})

test('a row without an answer is reported at the start', () => {
  const { delete: _, ...things } = answers.things
  const gate = {
    need: () => 'none' as const,
    authenticate: () => ({ scope: 'read' as const }),
    context: () => null,
  }
  assert.throws(
    () => newDispatch(table, { ...answers, things }, gate),
    /things\.delete has no answer/,
  )
})

test('two rows with one method and path are reported at the start', () => {
  const twice = { ...table, more: { read: table.pages.read } }
  const gate = {
    need: () => 'none' as const,
    authenticate: () => ({ scope: 'read' as const }),
    context: () => null,
  }
  assert.throws(
    () => newDispatch(twice, { ...answers, more: { read: seen } }, gate),
    /registered already/,
  )
})

test('the gate gets the whole request, and its own error is returned', async () => {
  const seenBy: Request[] = []
  const dispatch = newDispatch<Caller>(table, answers, {
    ...gateOf('read'),
    authenticate: (given) => {
      seenBy.push(given)
      return { scope: 'read' }
    },
    unauthorized: () => new AppError('unauthorized', 'its own words'),
  })
  const given = request('GET', '/things', { token: 't', scheme: 'DPoP', proof: 'p' })
  await dispatch(given)
  assert.deepEqual(seenBy, [given])
  await assert.rejects(dispatch(request('GET', '/things')), { message: 'its own words' })
})

test('an asynchronous context is awaited', async () => {
  const dispatch = newDispatch<Caller>(table, answers, {
    ...gateOf('none'),
    context: async () => 'later',
  })
  const { value } = await dispatch(request('GET', '/things'))
  assert.equal((value as { context: unknown }).context, 'later')
})

test('a form is read if the row asks for one', async () => {
  const asked: unknown[] = []
  const body = async (_: number, as?: string) => {
    asked.push(as)
    return { name: 'n' }
  }
  const forms = {
    forms: { send: { ...table.things.create, path: '/forms', form: true } },
  } as const satisfies Table
  const dispatch = newDispatch<Caller>(forms, { forms: { send: seen } }, gateOf('none'))
  await dispatch(request('POST', '/forms', { body }))
  await open(request('POST', '/things', { body }))
  assert.deepEqual(asked, ['form', 'json'])
})

type Claimed = Parameters<NonNullable<Gate<Caller>['once']>>[0]
const ACT = { id: new Uint8Array(16).fill(1), at: 7 }

/** Creates a dispatcher that records the claimed operations and passes them to the handlers. */
function repeatable(need: Need = 'write') {
  const claimed: Claimed[] = []
  const rows = {
    ...table,
    more: {
      again: { ...table.things.send, path: '/again', repeats: true },
      page: { method: 'POST', path: '/page', by: 'daemon', media: ['text/html'] },
    },
  } as const satisfies Table
  const dispatch = newDispatch<Caller>(
    rows,
    { ...answers, more: { again: seen, page: seen } },
    {
      ...gateOf(need),
      context: (_, __, act) => act,
      callerId: ({ scope }) => `the ${scope}`,
      once: (of, work) => {
        claimed.push(of)
        return work(ACT)
      },
    },
  )
  return { claimed, dispatch }
}
const keyed = (method: string, target: string, given?: unknown) =>
  request(method, target, { given, token: 'w', idempotencyKey: 'k1' })

const heeded: [name: string, request: Request, need: Need, heeded: boolean][] = [
  ['a POST', keyed('POST', '/things', { name: 'n' }), 'write', true],
  ['its second path', keyed('POST', '/flat-things', { name: 'n' }), 'write', true],
  ['a POST without a body', keyed('POST', '/send'), 'write', true],
  [
    'a POST without a key',
    { ...keyed('POST', '/send'), idempotencyKey: undefined },
    'write',
    false,
  ],
  ['a GET', keyed('GET', '/things'), 'write', false],
  ['a DELETE', keyed('DELETE', '/things/x'), 'write', false],
  ['a POST that can be repeated', keyed('POST', '/again'), 'write', false],
  ['a page', keyed('POST', '/page'), 'write', false],
  ['a POST without a token', keyed('POST', '/send'), 'none', false],
]
for (const [name, given, need, expected] of heeded)
  test(`an Idempotency-Key with ${name} is ${expected ? 'used' : 'ignored'}`, async () => {
    const { claimed, dispatch } = repeatable(need)
    const { value } = await dispatch(given)
    assert.equal((value as { context: unknown }).context, expected ? ACT : null)
    assert.deepEqual(
      claimed.map(({ caller, key }) => [caller, key]),
      expected ? [['the write', 'k1']] : [],
    )
  })

test('an invalid request does not use its key', async () => {
  const { claimed, dispatch } = repeatable()
  for (const bad of [keyed('POST', '/things', {}), keyed('POST', '/nope'), keyed('PUT', '/things')])
    await assert.rejects(dispatch(bad))
  await assert.rejects(dispatch({ ...keyed('POST', '/send'), token: 'r' }))
  assert.deepEqual(claimed, [])
})

test('the fingerprint covers method, path, query and body, as sent', async () => {
  const { claimed, dispatch } = repeatable()
  const favorite = (id: string, given?: unknown) =>
    dispatch(keyed('POST', `/things/${id}/favorite`, given))
  await favorite('x')
  await favorite('x')
  await favorite('y')
  await favorite('x', {})
  await favorite('x', { favorite: true })
  await favorite('x', { favorite: false })
  await dispatch(keyed('POST', '/send'))
  const prints = claimed.map(({ fingerprint }) => fingerprint)
  assert.equal(prints[0], prints[1])
  assert.equal(new Set(prints).size, 6)
})

test('a stored answer is returned with its status, value and location', async () => {
  const first = { status: 201, value: { id: 'old' }, media: false, location: '/things/old' }
  const dispatch = newDispatch<Caller>(table, answers, {
    ...gateOf('write'),
    callerId: () => 'me',
    once: async <A>() => first as A,
  })
  assert.deepEqual(await dispatch(keyed('POST', '/things', { name: 'n' })), first)
})

test('rows come in the order of the table', () => {
  assert.deepEqual(
    rowsOf(table).map(({ group, name }) => `${group}.${name}`),
    [...Object.keys(table.things).map((name) => `things.${name}`), 'pages.read'],
  )
})
