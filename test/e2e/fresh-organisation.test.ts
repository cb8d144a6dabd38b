/**
 * Organisations of a new daemon, over HTTP alone: without the command line or a remote account
 * server.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import type { Json } from './caller.ts'

const SPECIFIED = Object.keys(
  (
    JSON.parse(readFileSync(join(import.meta.dirname, '../golden/scopes.json'), 'utf8')) as {
      routes: object
    }
  ).routes,
).filter((route) => route.split(' ')[1]?.startsWith('/api/v1/org/'))

let daemon: TestDaemon
let token: string
before(async () => {
  daemon = await startDaemon()
  const { json } = await daemon.request('POST', '/api/v1/token', {
    body: { name: 'organiser', scope: 'full' },
  })
  token = (json as Json).token
})
after(() => daemon.close())

const ask = (method: string, path: string, body?: unknown) =>
  daemon.request(method, path, { token, body })

/** Valid enough that the route looks for the active organisation. */
const BODIES: Readonly<Record<string, object>> = {
  'POST /api/v1/org/members/bulk-invite': { invites: [{ email: 'ada@example.org' }] },
  'POST /api/v1/org/groups': { name: 'Night shift' },
  'PATCH /api/v1/org/groups/{id}': { description: 'From ten' },
  'POST /api/v1/org/groups/{id}/members': { member_ids: ['acc_00000000000000000000000000'] },
  'DELETE /api/v1/org/groups/{id}/members': { member_ids: ['acc_00000000000000000000000000'] },
  'POST /api/v1/org/alerts': {
    name: 'Stamps',
    event: 'stamp',
    threshold: 1,
    window_minutes: 5,
  },
  'PATCH /api/v1/org/alerts/{id}': { enabled: false },
}
const IDS: Readonly<Record<string, string>> = {
  members: 'acc_00000000000000000000000000',
  groups: 'grp_00000000000000000000000000',
  alerts: 'alr_00000000000000000000000000',
}

/** Returns the answer of every route: the status, and the code of an error. */
async function answers(): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const route of SPECIFIED) {
    const [method = '', path = ''] = route.split(' ')
    const query = path.endsWith('/trends') ? '?metric=activity' : ''
    const target = path.replace('{id}', IDS[path.split('/')[4] ?? ''] ?? '') + query
    const { status, json } = await ask(method, target, BODIES[route])
    found[route] = `${status} ${(json as Json)?.error ?? ''}`.trim()
  }
  return found
}

it('an organisation is created and chosen, and then every route of organisations works', async () => {
  assert.equal(SPECIFIED.length, 19)
  assert.deepEqual(new Set(Object.values(await answers())), new Set(['409 no_active_organisation']))

  const created = await ask('POST', '/api/v1/org', { name: 'Acme' })
  const made = created.json as Json
  assert.equal(created.status, 201)
  assert.deepEqual(Object.keys(made).toSorted(), ['id', 'name', 'role'])
  assert.deepEqual([made.name, made.role], ['Acme', 'owner'])

  const context = (await ask('GET', '/api/v1/context')).json as Json
  assert.deepEqual(context.organisations, [made])
  assert.equal('active_organisation' in context, false, 'creating it alone does not choose it')

  const chosen = await ask('POST', '/api/v1/context/active-org', { organisation_id: made.id })
  assert.deepEqual((chosen.json as Json).active_organisation, made)
  for (const [route, answer] of Object.entries(await answers()))
    // No resource has the requested ids.
    assert.match(answer, route.includes('{id}') ? /^404 not_found$|^422 / : /^20[0-2]$/, route)
})

it('an organisation without a name, or with a long one, is rejected', async () => {
  for (const name of ['', 'x'.repeat(101)])
    assert.equal((await ask('POST', '/api/v1/org', { name })).status, 422)
})
