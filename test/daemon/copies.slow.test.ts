/** Reads while the account server is away: each GET route, before and after the server ends. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import { timeAt } from '../../src/api/fields.ts'
import { rest } from '../../src/api/rest/index.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { type Answer, type TestDaemon, startDaemon } from '../daemon.ts'
import { freePort } from '../free-port.ts'
import { asOwner, signIn } from '../handlers/people.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'

interface Marked {
  readonly as_of?: string
  readonly name?: string
  readonly items?: readonly { readonly id: string; readonly name: string }[]
  readonly next_cursor?: string | null
}

/** Starts an account server and a daemon that uses it; `end` ends the server. */
async function startPair(t: TestContext) {
  const port = await freePort()
  const server = await startDaemon({
    SVC_ACCOUNT_PORT: String(port),
    SVC_STATE_DIR: freshFolder(t),
  })
  const daemon = await startDaemon({
    SVC_BACKEND_URL: server.accountAddress,
    SVC_STATE_DIR: freshFolder(t),
  })
  let isAway = false
  const end = async () => {
    if (!isAway) await server.close()
    isAway = true
  }
  t.after(async () => {
    await daemon.close()
    await end()
  })
  await signIn(daemon, server, 'ona@example.org')
  return { server, port, daemon, end }
}

/**
 * How each GET route answers while the server is away: `copy`, marked with `as_of`; `device`, from
 * data that this device has itself; or with the status of an error.
 */
const AWAY: Readonly<Record<string, 'copy' | 'device' | 503>> = {
  '/api/v1/audit': 'device',
  '/api/v1/audit/chain': 'device',
  '/api/v1/stamps': 'device',
  '/api/v1/stamps/{stamp}': 'device',
  '/api/v1/health': 'device',
  '/api/v1/health/ready': 'device',
  '/metrics': 'device',
  '/api/v1/status': 'device',
  '/api/v1/sync': 'device',
  '/api/v1/doctor': 'device',
  '/api/v1/openapi.json': 'device',
  '/api/v1/docs': 'device',
  '/openapi.json': 'device',
  '/api/v1/verification-log': 'copy',
  '/api/v1/trust-cards': 'copy',
  '/api/v1/trust-cards/{peer}/history': 'copy',
  '/api/v1/trust/metrics': 'copy',
  '/api/v1/connections': 'copy',
  '/api/v1/connections/{connection}': 'copy',
  '/api/v1/connections/{connection}/code': 'device',
  '/api/v1/invitations': 'copy',
  '/api/v1/invitations/pending': 'copy',
  '/api/v1/first-contacts': 'device',
  '/api/v1/guest-codes': 'copy',
  '/api/v1/guest-codes/{guest}/qr': 'device',
  '/api/v1/external-members': 'copy',
  '/api/v1/tags': 'copy',
  '/api/v1/presets': 'copy',
  '/api/v1/open-links': 'copy',
  // A suggestion is only of use if the server knows that the name is free.
  '/api/v1/open-links/suggest': 503,
  '/api/v1/open-links/requests': 'copy',
  '/api/v1/context': 'copy',
  '/api/v1/profile': 'copy',
  '/api/v1/profiles/{peer}': 'copy',
  '/api/v1/profiles/{peer}/keys': 'copy',
  '/api/v1/preferences': 'copy',
  '/api/v1/notifications': 'copy',
  '/api/v1/devices': 'copy',
  '/api/v1/devices/{device}/approval': 503,
  '/api/v1/sessions': 'copy',
  '/api/v1/emails': 'copy',
  '/api/v1/exports': 'copy',
  // The link works without a token, so it is not stored.
  '/api/v1/exports/{export}/download': 503,
  // Data of other people, which a member may read only while they are a member.
  '/api/v1/org/members': 503,
  '/api/v1/org/members/{self}': 503,
  '/api/v1/org/groups': 503,
  '/api/v1/org/alerts': 503,
  '/api/v1/org/activity': 503,
  '/api/v1/org/activity/summary': 503,
  '/api/v1/org/analytics/dashboard': 503,
  '/api/v1/org/analytics/trends': 503,
  '/api/v1/api-tokens': 'device',
  '/api/v1/events?wait=0': 'device',
  '/api/v1/webhooks': 'device',
  '/api/v1/webhooks/{webhook}/deliveries': 'device',
}

/** Creates what the routes of the table need; returns the ids by their names in the table. */
async function furnish(daemon: TestDaemon, server: TestDaemon): Promise<Record<string, string>> {
  const made = async (path: string, body: object) =>
    (await asOwner<{ id: string }>(daemon, 'POST', `/api/v1/${path}`, body)).id
  const peer = (await asOwner<{ user: { id: string } }>(server, 'GET', '/api/v1/context')).user.id
  const self = (await asOwner<{ user: { id: string } }>(daemon, 'GET', '/api/v1/context')).user.id
  await asOwner(daemon, 'PATCH', '/api/v1/profile', { display_name: 'Ona' })
  const connection = await made('connections', { name: 'Bank', invite: [{ user_id: peer }] })
  await asOwner(daemon, 'POST', '/api/v1/trust-cards', { user_id: peer })
  const guest = await made('guest-codes', { label: 'Plumber' })
  await made('external-members', { display_name: 'Carl' })
  await made('tags', { name: 'Work' })
  await made('open-links', {})
  const webhook = await made('webhooks', {
    url: 'https://example.org/hook',
    types: ['webhook.given_up'],
  })
  const stamp = await made('stamp', { content: 'Offer' })
  const organisation_id = await made('org', { name: 'Example Ltd' })
  await asOwner(daemon, 'POST', '/api/v1/context/active-org', { organisation_id })
  const { items } = await asOwner<{ items: { id: string }[] }>(daemon, 'GET', '/api/v1/devices')
  const device = items[0]?.id ?? ''
  return {
    connection,
    device,
    guest,
    peer,
    self,
    webhook,
    stamp,
    export: await made('exports', {}),
  }
}

it('each GET route is in the table of routes', () => {
  const inTable = Object.keys(AWAY).map((path) =>
    path.replace(/\?.*/, '').replace(/{\w+}/g, '{id}'),
  )
  const gets = rowsOf(rest).filter(({ route }) => route.method === 'GET')
  assert.deepEqual(inTable.toSorted(), gets.map(({ route }) => route.path).toSorted())
})

/** Returns an answer without the words of guest codes, which are those of the current minute. */
const withoutWords = ({ items, ...rest }: Marked) => ({
  ...rest,
  items: items?.map((item) => ({ ...item, code: null })),
})

it('reads answer while the account server is away, marked if they are copies', async (t) => {
  const { server, daemon, end } = await startPair(t)
  const ids = await furnish(daemon, server)
  const asked = async () => {
    const answers: Record<string, Answer> = {}
    for (const template of Object.keys(AWAY)) {
      const path = template.replace(/{(\w+)}/g, (_, name: string) => ids[name] ?? name)
      answers[template] = await daemon.request('GET', path, { token: daemon.owner() })
    }
    return answers
  }
  const before = timeAt(Date.now())
  const online = await asked()
  const after = timeAt(Date.now())
  await end()
  const away = await asked()
  const found = Object.entries(away).map(([path, { status, json }]) => {
    const isMarked = (json as Marked | undefined)?.as_of !== undefined
    return [path, status === 200 ? (isMarked ? 'copy' : 'device') : status] as const
  })
  assert.deepEqual(Object.fromEntries(found), AWAY)
  for (const [path, { json, text }] of Object.entries(away)) {
    assert.equal(online[path]?.status, 200, path)
    if (AWAY[path] === 503)
      assert.match(
        (json as { message: string }).message,
        /has not answered since .*only the server/,
      )
    if (AWAY[path] !== 'copy') continue
    const { as_of, ...rest } = json as Marked
    assert(as_of !== undefined && before <= as_of && as_of <= after, `${path}: ${text}`)
    assert.deepEqual(withoutWords(rest), withoutWords(online[path]?.json as Marked), path)
  }
})

/** Returns a list as a copy, as the owner. */
const copyOf = (daemon: TestDaemon, path: string) =>
  asOwner<Marked>(daemon, 'GET', `/api/v1/${path}`)
const names = ({ items = [] }: Marked) => items.map(({ name }) => name)

it('a copy of a whole list answers its filters, its pages and its items', async (t) => {
  const { daemon, end } = await startPair(t)
  const made = (name: string) =>
    asOwner<{ id: string }>(daemon, 'POST', '/api/v1/connections', { name })
  const { id } = await made('A')
  await made('B')
  await made('C')
  await asOwner(daemon, 'PATCH', `/api/v1/connections/${id}`, { favorite: true })
  const first = await copyOf(daemon, 'connections?limit=1')
  await asOwner(daemon, 'POST', '/api/v1/sync')
  await end()
  assert.deepEqual(names(await copyOf(daemon, 'connections')), ['C', 'B', 'A'])
  assert.deepEqual(names(await copyOf(daemon, 'connections?favorite=true')), ['A'])
  assert.deepEqual(names(await copyOf(daemon, 'connections?state=active')), [])
  const second = await copyOf(daemon, `connections?limit=1&cursor=${first.next_cursor}`)
  assert.deepEqual(names(second), ['B'])
  const third = await copyOf(daemon, `connections?limit=5&cursor=${second.next_cursor}`)
  assert.deepEqual([names(third), third.next_cursor], [['A'], null])
  assert.equal((await copyOf(daemon, `connections/${id}`)).name, 'A')
  const unread = `/api/v1/connections/con_${'0'.repeat(26)}`
  const { json, status } = await daemon.request('GET', unread, { token: daemon.owner() })
  assert.equal(status, 503)
  assert.match((json as { message: string }).message, /has no copy of this answer yet/)
})

it('a copy never shows what a write of this device has changed', async (t) => {
  const { daemon, end } = await startPair(t)
  const tag = (name: string) => asOwner<{ id: string }>(daemon, 'POST', '/api/v1/tags', { name })
  const { id } = await tag('Old')
  assert.deepEqual(names(await copyOf(daemon, 'tags')), ['Old'])
  await asOwner(daemon, 'PATCH', `/api/v1/tags/${id}`, { name: 'New' })
  await tag('Second')
  await end()
  // The copy was read again, or it is gone: either way it is not the one from before.
  const { status, json } = await daemon.request('GET', '/api/v1/tags', { token: daemon.owner() })
  if (status === 200) assert.deepEqual(names(json as Marked).toSorted(), ['New', 'Second'])
  else assert.equal(status, 503)
  const failed = await daemon.request('DELETE', `/api/v1/tags/${id}`, { token: daemon.owner() })
  assert.equal(failed.status, 503, 'a write is never answered from a copy')
})

/** Waits until the stored copy of a route contains a text. */
async function untilCopied(t: TestContext, daemon: TestDaemon, route: string, text: string) {
  const database = new DatabaseSync(join(daemon.stateDir, 'state.db'), { readOnly: true })
  t.after(() => database.close())
  const copies = database.prepare('select answer from copies where route = ?')
  await until(`a copy of ${route}`, () => JSON.stringify(copies.all(route)).includes(text))
}

it('a list is read again after a write, so that it has a copy', async (t) => {
  const { daemon, end } = await startPair(t)
  await copyOf(daemon, 'tags')
  await asOwner(daemon, 'POST', '/api/v1/tags', { name: 'Work' })
  await untilCopied(t, daemon, 'tags.list', 'Work')
  await end()
  assert.deepEqual(names(await copyOf(daemon, 'tags')), ['Work'])
})

it('a daemon copies lists that no request has read', async (t) => {
  const { daemon, end } = await startPair(t)
  // The last list that only the daemon reads by itself; syncs read others too.
  await untilCopied(t, daemon, 'emails.list', 'items')
  await end()
  for (const list of ['profile', 'presets', 'emails', 'sessions', 'external-members?limit=1'])
    assert.notEqual((await copyOf(daemon, list)).as_of, undefined, list)
})

it('reads wait neither for a server that is away nor after it is back', async (t) => {
  const { port, daemon, end } = await startPair(t)
  await copyOf(daemon, 'tags')
  await end()
  assert.notEqual((await copyOf(daemon, 'tags')).as_of, undefined)
  // It accepts connections and stays silent, so that each request would wait for its answer.
  const paths: string[] = []
  const mute = createServer((socket) => {
    socket.on('error', () => undefined).on('data', (data) => void paths.push(String(data)))
  })
  mute.listen(port, '127.0.0.1')
  await once(mute, 'listening')
  t.after(() => mute.close())
  for (let i = 0; i < 20; i++) assert.notEqual((await copyOf(daemon, 'tags')).as_of, undefined)
  assert(paths.filter((one) => one.includes('/tags')).length <= 1)
})

it('no copy survives a sign-out or the end of the session', async (t) => {
  const { server, daemon, end } = await startPair(t)
  await copyOf(daemon, 'tags')
  const database = new DatabaseSync(join(daemon.stateDir, 'state.db'), { readOnly: true })
  t.after(() => database.close())
  const count = () => database.prepare('select count(*) as n from copies').get()?.['n']
  assert.notEqual(count(), 0)
  const other = await startDaemon({ SVC_BACKEND_URL: server.accountAddress })
  t.after(() => other.close())
  await signIn(other, server, 'ona@example.org', true)
  const refused = await daemon.request('GET', '/api/v1/tags', { token: daemon.owner() })
  assert.equal((refused.json as { error: string }).error, 'not_signed_in')
  assert.equal(count(), 0, 'another device replaced this one')
  await asOwner(daemon, 'POST', '/local/v1/sign-out', { forget: true })
  await signIn(daemon, server, 'ona@example.org', true)
  await copyOf(daemon, 'tags')
  assert.notEqual(count(), 0)
  await asOwner(daemon, 'POST', '/local/v1/sign-out', { last_device: true })
  assert.equal(count(), 0, 'signed out')
  await end()
})
