/**
 * The typed client: the requests that it sends for a call, and that a daemon reads them as
 * intended.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { rest } from '../src/api/rest/index.ts'
import type { Table } from '../src/api/route.ts'
import { type Outgoing, clientOf } from '../src/api/client.ts'
import { rowsOf } from '../src/api/rows.ts'
import { type TestDaemon, startDaemon } from './daemon.ts'
import { rejects } from './rejects.ts'

const sent: Outgoing[] = []
const echo = clientOf(rest, async (request) => {
  sent.push(request)
  return 'answer'
})
const last = () => {
  const { route, ...rest } = sent.at(-1) ?? assert.fail()
  return { method: route.method, ...rest }
}

test('path parameters, query and body are sent in their places', async () => {
  assert.equal(await echo.connections.update({ id: 'con_1', body: { name: 'n' } }), 'answer')
  assert.deepEqual(last(), {
    method: 'PATCH',
    path: '/api/v1/connections/con_1',
    query: '',
    body: { name: 'n' },
  })
  await echo.connections.list({ limit: 5, cursor: 'a&b=c' })
  assert.deepEqual(last(), {
    method: 'GET',
    path: '/api/v1/connections',
    query: 'limit=5&cursor=a%26b%3Dc',
    body: undefined,
  })
  await echo.connections.list({})
  assert.equal(last().query, '')
  await echo.connections.list({ cursor: undefined } as object)
  assert.equal(last().query, '')
  await echo.guestCodes.qr({ id: 'gst_1', format: 'gif' })
  assert.deepEqual(last(), {
    method: 'GET',
    path: '/api/v1/guest-codes/gst_1/qr',
    query: 'format=gif',
    body: undefined,
  })
})

test('a list in the query is sent as repeated names', async () => {
  const table = {
    notes: { clear: { method: 'DELETE', path: '/notes/{a}/{b}', by: 'daemon' } },
  } as const satisfies Table
  let out: Outgoing | undefined
  const calls = clientOf(table, async (request) => void (out = request))
  await calls.notes.clear({ a: '1', b: '2', id: ['x', 'y'], on: false } as { a: string; b: string })
  assert.deepEqual([out?.path, out?.query], ['/notes/1/2', 'id=x&id=y&on=false'])
})

const Id = fc
  .string({ unit: 'binary' })
  .map((text) => text.toWellFormed())
  .filter((text) => !['', '.', '..'].includes(text))

test('a parameter cannot leave its path segment', async () => {
  await fc.assert(
    fc.asyncProperty(Id, async (id) => {
      await echo.connections.code({ id })
      const segments = last().path.split('/')
      assert.equal(segments.length, 6)
      assert.deepEqual([segments[5], decodeURIComponent(segments[4] as string)], ['code', id])
    }),
  )
})

for (const id of ['.', '..', ''])
  test(`an id of ${JSON.stringify(id)} is not sent, as it would change the URL`, async () => {
    const before = sent.length
    await rejects('not_found', async () => echo.apiTokens.delete({ id }))
    assert.equal(sent.length, before)
  })

test('there is a call for every row', () => {
  const calls = echo as unknown as Record<string, Record<string, unknown>>
  for (const { group, name } of rowsOf(rest))
    assert.equal(typeof calls[group]?.[name], 'function', `${group}.${name}`)
})

let daemon: TestDaemon
before(async () => {
  daemon = await startDaemon()
})
after(() => daemon.close())

test('the calls work over HTTP', async () => {
  const token = await daemon.token('full')
  const api = clientOf(rest, async ({ route, path, query, body }) => {
    const { status, json } = await daemon.request(
      route.method,
      query === '' ? path : `${path}?${query}`,
      { token, body },
    )
    if (status >= 400) throw Object.assign(new Error('refused'), { status })
    return json
  })
  // The first sync signs the profile, which changes `updated_at` of connections.
  await api.sync.run({})
  const made = await api.connections.create({ body: { name: 'Ärger & Söhne' } })
  const read = await api.connections.read({ id: made.id })
  assert.deepEqual(read, made)
  const { items, next_cursor } = await api.connections.list({ limit: 1 })
  assert.deepEqual([items.map(({ id }) => id), next_cursor], [[made.id], null])
  assert.equal((await api.connections.favorite({ id: made.id, body: undefined })).favorite, true)
  assert.equal((await api.connections.update({ id: made.id, body: { name: 'x' } })).name, 'x')
  await api.connections.delete({ id: made.id })
  await assert.rejects(api.connections.read({ id: made.id }), { status: 404 })
})
