/**
 * Compares an export with the answers of every GET route, for an embedded and a remote account
 * server: the export has all data that a route returns and an account server stores.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import { everyPath } from '../../src/api/route.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { startAccountServer } from '../account-server.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { activeOrganisation, signIn } from '../handlers/people.ts'
import { unzip } from '../service/exports/unzip.ts'
import { askedBy } from './asking.ts'
import type { Json } from './caller.ts'
import { until } from '../until.ts'

/** The file of the export that contains a route’s rows or resource, by route. */
const COMPARED: Readonly<Record<string, string>> = {
  '/api/v1/verification-log': 'verification-log.json',
  '/api/v1/trust-cards': 'trust-cards.json',
  '/api/v1/trust-cards/{id}/history': 'trust-cards.json',
  '/api/v1/connections': 'connections.json',
  '/api/v1/connections/{id}': 'connections.json',
  '/api/v1/invitations': 'invitations.json',
  '/api/v1/invitations/pending': 'invitations.json',
  '/api/v1/guest-codes': 'guest-codes.json',
  '/api/v1/external-members': 'external-members.json',
  '/api/v1/tags': 'tags.json',
  '/api/v1/presets': 'presets.json',
  '/api/v1/open-links': 'open-links.json',
  '/api/v1/open-links/requests': 'open-link-requests.json',
  '/api/v1/context': 'context.json',
  '/api/v1/profile': 'profile.json',
  '/api/v1/preferences': 'preferences.json',
  '/api/v1/notifications': 'notifications.json',
  '/api/v1/devices': 'devices.json',
  '/api/v1/sessions': 'sessions.json',
  '/api/v1/emails': 'emails.json',
  '/api/v1/exports': 'exports.json',
}

/**
 * Data that is deliberately in no export: whole routes, and members of compared rows. Each with
 * its reason.
 */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  '/health': 'of the program, not of an account',
  '/api/v1/health': 'of the program, not of an account',
  '/health/ready': 'of the program, not of an account',
  '/api/v1/health/ready': 'of the program, not of an account',
  '/metrics': 'of the program, not of an account',
  '/openapi.json': 'a document',
  '/api/v1/openapi.json': 'a document',
  '/api/v1/docs': 'a document',
  '/api/v1/status': 'the state of this daemon, stored nowhere else',
  '/api/v1/sync': 'the state of this daemon, stored nowhere else',
  '/api/v1/doctor': 'checked at each call, not stored',
  '/api/v1/api-tokens': 'the daemon keeps its own tokens; the account server has none of them',
  '/api/v1/stamps': 'the stamps of this device; exports contain those of the account',
  '/api/v1/stamps/{id}': 'the stamps of this device; exports contain those of the account',
  '/api/v1/audit': 'the requests to this daemon, stored nowhere else',
  '/api/v1/audit/chain': 'the requests to this daemon, stored nowhere else',
  '/api/v1/trust/metrics': 'counted from the trust cards, not stored',
  '/api/v1/devices/{id}/approval': 'how far an approval is, not stored',
  '/api/v1/connections/{id}/code': 'words, made of a secret that only devices have',
  '/api/v1/guest-codes/{id}/qr': 'a secret that only this device has',
  '/api/v1/events': 'what this daemon saw, kept for 7 days',
  '/api/v1/webhooks': 'of this daemon, with secrets that only this device has',
  '/api/v1/webhooks/{id}/deliveries': 'of this daemon',
  '/api/v1/first-contacts': 'the state of this device, which keeps outcomes for a day',
  '/api/v1/open-links/suggest': 'proposed at each call, not stored',
  '/api/v1/profiles/{id}': 'of other people',
  '/api/v1/profiles/{id}/keys': 'of other people; the own keys are in key-log.json',
  '/api/v1/exports/{id}/download': 'a signed link, which opens the file to whoever has it',
  '/api/v1/org/members': 'of the organisation and its members',
  '/api/v1/org/members/{id}': 'of the organisation and its members',
  '/api/v1/org/groups': 'of the organisation and its members',
  '/api/v1/org/alerts': 'of the organisation and its members',
  '/api/v1/org/activity': 'of the organisation and its members',
  '/api/v1/org/activity/summary': 'of the organisation and its members',
  '/api/v1/org/analytics/dashboard': 'of the organisation and its members',
  '/api/v1/org/analytics/trends': 'of the organisation and its members',
  'profile.json public_code': 'words, which change every minute',
  'connections.json secret_here': 'what this device holds',
  'guest-codes.json secret_here': 'what this device holds',
  'guest-codes.json code': 'words, which change every minute',
  'trust-cards.json display_name': 'chosen by this device',
  'trust-cards.json own_name': 'verified by this device',
  'trust-cards.json name_changed': 'judged by this device',
  'trust-cards.json key_status': 'judged by this device',
  'trust-cards.json safety_number': 'computed by this device',
  'trust-cards.json history key_added': 'read by this device from the key log of the other person',
  'trust-cards.json history key_revoked':
    'read by this device from the key log of the other person',
  'trust-cards.json history keys_changed':
    'read by this device from the key log of the other person',
  'context.json active_organisation': 'chosen by each session: in sessions.json',
  'devices.json current': 'who asks, not stored',
  'sessions.json current': 'who asks, not stored',
  'sessions.json last_seen_at': 'of the session that asks: now',
  'devices.json last_seen_at': 'of the device that asks: now',
}

const isOfExport = ({ method }: { method: string }) => method === 'GET'
const ROUTES = rowsOf(rest)
  .map(({ route }) => route)
  .filter(isOfExport)
  .flatMap((route) => everyPath(route))

it('every GET route is compared, or excluded for a reason', () => {
  const left = Object.keys(EXCEPTIONS).filter((name) => name.startsWith('/'))
  const listed = new Set([...Object.keys(COMPARED), ...left])
  assert.deepEqual(
    [...listed].filter((path) => !ROUTES.includes(path)),
    [],
    'no such routes: remove them from COMPARED or EXCEPTIONS in this file',
  )
  assert.deepEqual(
    ROUTES.filter((path) => !listed.has(path)),
    [],
    'add these routes to COMPARED (the file of the export) or EXCEPTIONS (the reason) in this file',
  )
})

/** Members that describe the names on this device. The account server does not have them. */
const OF_NAMES = ['name_source', 'name_marks']

const unjudged = (value: Json): Json =>
  JSON.parse(
    JSON.stringify(value, (key, member: unknown) => (OF_NAMES.includes(key) ? undefined : member)),
  ) as Json

/** Returns a compared row without the members that are left out for a reason. */
function stored(file: string, row: Json): Json {
  const entries = Object.entries(unjudged(row) as object)
  return Object.fromEntries(entries.filter(([name]) => EXCEPTIONS[`${file} ${name}`] === undefined))
}

interface Opened {
  readonly home: TestDaemon
  readonly server: Pick<TestDaemon, 'stateDir' | 'address'>
}

async function embedded(t: TestContext): Promise<Opened> {
  const home = await startDaemon()
  t.after(() => home.close())
  return { home, server: { stateDir: home.stateDir, address: home.accountAddress } }
}

async function far(t: TestContext): Promise<Opened> {
  const server = await startAccountServer(t, {})
  const home = await startDaemon({ SVC_BACKEND_URL: server.address })
  t.after(() => home.close())
  await signIn(home, server, 'owner@example.org')
  return { home, server }
}

describe('an export contains the answers of all routes', () => {
  for (const [name, open] of [
    ['embedded', embedded],
    ['far away', far],
  ] as const)
    it(`account server: ${name}`, async (t) => {
      const { home, server } = await open(t)
      const token = await home.token('full')
      const ask = async (method: string, path: string, body?: unknown): Promise<Json> => {
        const { status, json, text } = await home.request(method, path, { token, body })
        assert(status < 300, `${method} ${path}: ${status} ${text}`)
        return json as Json
      }
      const get = (path: string) => ask('GET', path)
      const make = (path: string, body?: unknown) => ask('POST', path, body)

      // The page of an open link needs one.
      await ask('PATCH', '/api/v1/profile', { display_name: 'Owner' })
      const friend = await startDaemon({ SVC_BACKEND_URL: server.address })
      t.after(() => friend.close())
      await signIn(friend, server, 'ada@example.org')
      const asFriend = async (method: string, path: string, body?: unknown): Promise<Json> => {
        const answer = await friend.request(method, path, { token: friend.owner(), body })
        assert(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
        return answer.json as Json
      }
      const { user } = await asFriend('GET', '/api/v1/context')

      // Something of each kind.
      const tag = await make('/api/v1/tags', { name: 'Work' })
      await make('/api/v1/presets', { name: 'Customers', tag_ids: [tag.id] })
      const connection = await make('/api/v1/connections', {
        name: 'Bank',
        invite: [{ user_id: user.id }],
      })
      await make(`/api/v1/tags/${tag.id}/assign/${connection.id}`)
      const theirs = await asFriend('POST', '/api/v1/connections', { name: 'Theirs' })
      const own = await get('/api/v1/context')
      await asFriend('POST', `/api/v1/connections/${theirs.id}/members`, { user_id: own.user.id })
      await make('/api/v1/external-members', { display_name: 'Plumber' })
      await make('/api/v1/guest-codes', { label: 'A friend' })
      const link = await make('/api/v1/open-links', { title: 'Hello' })
      await askedBy(link.url, join(server.stateDir, 'mail'), 'carl@example.org')
      await make('/api/v1/trust-cards', { user_id: user.id })
      await ask('PATCH', `/api/v1/trust-cards/${user.id}`, { note: 'A friend' })
      await ask('PATCH', '/api/v1/preferences', { public_code: true })
      await make('/api/v1/emails', { address: 'second@example.org' })
      await activeOrganisation(home)
      /** Returns the newest export if it is finished. */
      const finished = async (): Promise<Json> => {
        const [newest] = (await get('/api/v1/exports')).items
        return newest.state === 'ready' ? newest : undefined
      }
      await make('/api/v1/exports')
      await until('an export', finished)
      // The newest ones, which only this device has yet.
      const { words } = await get(`/api/v1/connections/${connection.id}/code`)
      await make('/api/v1/verify', { words })
      const stamp = await make('/api/v1/stamp', { content: 'x' })

      const { id } = await make('/api/v1/exports')
      await until('another export', finished)
      const { url } = await get(`/api/v1/exports/${id}/download`)
      const files = await unzip(new Uint8Array(await (await fetch(url as string)).arrayBuffer()))
      const file = (name: string): Json =>
        JSON.parse(files.get(name) ?? assert.fail(`there is no ${name}`))

      /** Returns the file’s entry of a row, by its id. */
      const rowIn = (name: string, row: Json): Json => {
        const { user_id, id: own } = row
        const all: Json[] = Array.isArray(file(name))
          ? file(name)
          : [...file(name).received, ...file(name).sent]
        return all.find((one) => one.id === own && one.user_id === user_id)
      }
      const compare = (route: string, row: Json) => {
        const name = COMPARED[route]!
        const exported = rowIn(name, row) ?? assert.fail(`${name} lacks ${JSON.stringify(row)}`)
        const { history: _, ...here } = stored(name, exported)
        assert.deepEqual(here, stored(name, row), route)
      }
      for (const [route, name] of Object.entries(COMPARED)) {
        if (route === '/api/v1/trust-cards/{id}/history') {
          const { items } = await get(route.replace('{id}', user.id))
          const known = (items as Json[]).filter(
            ({ event }) => EXCEPTIONS[`${name} history ${event}`] === undefined,
          )
          assert(known.length > 1)
          assert.deepEqual(file(name)[0].history, known)
          continue
        }
        const answer = await get(route.replace('{id}', connection.id))
        const rows: Json[] = answer.items ?? (answer.sent && [...answer.sent, ...answer.received])
        if (rows !== undefined) {
          assert(rows.length > 0, `${route} answers no row to compare`)
          // The export itself is in it as of its creation, and its later state is not.
          const fixed = rows.filter((row) => row.id !== id && row.data?.export_id !== id)
          for (const row of fixed) compare(route, row)
        } else if (route.endsWith('{id}')) compare(route, answer)
        else assert.deepEqual(stored(name, file(name)), stored(name, answer), route)
      }
      assert(file('exports.json').some((one: Json) => one.id === id))
      assert(JSON.stringify(file('verification-log.json')).includes('"echo"'))
      assert(JSON.stringify(file('stamps.json')).includes(stamp.stamp_id ?? stamp.id))
      const secret = /"(?:url|words|secret|token)":/
      for (const [named, text] of files)
        if (named !== 'open-links.json') assert.doesNotMatch(text, secret, named)
    })
})
