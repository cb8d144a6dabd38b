/**
 * A token of scope read gets no secret that outlives it: the test sends every GET request with
 * one to a daemon with data of each kind, over HTTP and as a tool, and searches the answers.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, describe, it } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import { apiTable } from '../../src/daemon/daemon.ts'
import { fileKeychain, findKey } from '../../src/keychain/file.ts'
import { toolsOf } from '../../src/api/tools/tool.ts'
import { startAccountServer } from '../account-server.ts'
import { POSTS } from '../attack/populated.ts'
import { targetsOf } from '../attack/routes.ts'
import { type TestDaemon, ask, startDaemon } from '../daemon.ts'
import { activeOrganisation, asOwner, newMachine, signIn } from '../handlers/people.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { confirmationIn } from '../service/letters.ts'
import { secretsIn } from './kept.ts'
import { encodings, found } from './leaks.ts'

/** Base64 in JSON in base64. */
const DEPTH = 3

const PICTURE = "This picture contains the guest's secret. Use a token with scope write."
const EXPORT = '/api/v1/exports/{id}/download'
const QR = '/api/v1/guest-codes/{id}/qr'

/** The image, and the history of a trust card, since this account follows no other one. */
const REFUSED = [
  'guestCodes.qr',
  'tool guest_codes_qr',
  'tool trust_cards_history',
  'trustCards.history',
]

/** A daemon, and the state folder of its account server. */
interface Home {
  readonly daemon: TestDaemon
  readonly serverDir: string
}

const PLACES: Readonly<Record<string, (t: TestContext) => Promise<Home>>> = {
  async embedded(t) {
    const serverDir = freshFolder(t)
    const daemon = await startDaemon({ SVC_STATE_DIR: serverDir })
    t.after(() => daemon.close())
    return { daemon, serverDir }
  },
  async remote(t) {
    const server = await startAccountServer(t)
    const daemon = await startDaemon({
      SVC_STATE_DIR: freshFolder(t),
      SVC_BACKEND_URL: server.address,
    })
    t.after(() => daemon.close())
    await signIn(daemon, server, 'ada@example.org')
    return { daemon, serverDir: server.stateDir }
  },
}

/** Creates data of each kind. Returns the ids by the last segment of their collections. */
async function populate(daemon: TestDaemon): Promise<Map<string, string>> {
  // The page of an open link needs one.
  await asOwner(daemon, 'PATCH', '/api/v1/profile', { display_name: 'Ada' })
  await activeOrganisation(daemon)
  await asOwner(daemon, 'PATCH', '/api/v1/preferences', { public_code: true })
  const ids = new Map<string, string>()
  for (const [path, body] of POSTS) {
    const { id } = await asOwner<{ id: string }>(daemon, 'POST', path, body)
    ids.set(path.slice(path.lastIndexOf('/') + 1), id)
  }
  ids.set('stamps', ids.get('stamp')!)
  const { user } = await asOwner<{ user: { id: string } }>(daemon, 'GET', '/api/v1/context')
  ids.set('profiles', user.id)
  await asOwner(daemon, 'POST', '/api/v1/exports')
  for (;;) {
    const { items } = await asOwner<{ items: { id: string; state: string }[] }>(
      daemon,
      'GET',
      '/api/v1/exports',
    )
    ids.set('exports', items[0]!.id)
    if (items[0]!.state === 'ready') return ids
  }
}

/** Requests a link to the export with a token. */
async function linkWith(daemon: TestDaemon, token: string, id: string) {
  const path = EXPORT.replace('{id}', id)
  const { status, json, text } = await daemon.request('GET', path, { token })
  assert.equal(status, 200, text)
  return json as { url: string; expires_at: string }
}

async function statusOf(url: string): Promise<number> {
  const { origin, pathname, search } = new URL(url)
  return (await ask(origin, 'GET', pathname + search)).status
}

interface Made {
  readonly id: string
  readonly token: string
  readonly expires_at: string | null
}
const newToken = (daemon: TestDaemon, more: object = {}) =>
  asOwner<Made>(daemon, 'POST', '/api/v1/api-tokens', { name: 'reader', scope: 'read', ...more })

/** Returns the secrets of the account server, and the links that it mailed. */
async function secretsOf(serverDir: string): Promise<[what: string, bytes: Uint8Array][]> {
  const db = new DatabaseSync(join(serverDir, 'account.db'), { readOnly: true })
  const column = (sql: string) => db.prepare(sql).all() as { name: string; secret: string }[]
  const results = [
    ...column("select 'public code' as name, k as secret from public_codes where k is not null"),
    ...column("select 'receipt key' as name, seed as secret from receipt_key"),
    ...column("select name, secret from server_secrets where secret <> ''"),
  ]
  db.close()
  assert.deepEqual(results.map(({ name }) => name).slice(0, 2), ['public code', 'receipt key'])
  assert(readdirSync(join(serverDir, 'mail')).length > 0)
  const confirmation = await confirmationIn(join(serverDir, 'mail'), 'olga@example.org')
  const mailed = confirmation.slice(confirmation.lastIndexOf('/') + 1)
  return [
    ...results.map(({ name, secret }) => [name, secret] as const),
    ['mailed link', mailed] as const,
  ].map(([name, secret]) => [name, Buffer.from(secret, 'base64url')])
}

for (const [place, open] of Object.entries(PLACES))
  describe(`a token of scope read, ${place}`, () => {
    it('gets no secret that outlives it, by any GET route, over HTTP or as a tool', async (t) => {
      const { daemon, serverDir } = await open(t)
      const ids = await populate(daemon)
      const machine = await newMachine(daemon, await activeOrganisation(daemon, 'Another'))
      const others = [await daemon.token('full'), await machine.token('full')]
      const { token } = await newToken(daemon)
      const idIn = (path: string) => ids.get(path.slice(path.lastIndexOf('/') + 1))
      const targets = targetsOf({ api: apiTable, account: {} }, idIn).filter(
        ({ method, route, need }) => method === 'GET' && route !== null && need === 'read',
      )
      const results: { name: string; status: number; text: string }[] = []
      const tools = new Map<string, string>(
        toolsOf(rest)
          .filter(({ route }) => route.method === 'GET')
          .map(({ name, route }) => [route.path, name]),
      )
      for (const { name, path, query, pattern } of targets) {
        for (const accept of ['', 'image/gif', 'application/json', 'image/png']) {
          const headers = { Accept: accept }
          const {
            status,
            text,
            headers: got,
          } = await daemon.request('GET', path + query, {
            token,
            headers,
          })
          results.push({ name, status, text })
          // The search cannot read images.
          assert.doesNotMatch(String(got['content-type']), /^image/, name)
        }
        const tool = tools.get(pattern)
        if (tool === undefined) continue
        const params = [...pattern.matchAll(/{(\w+)}/g)].map(([, param]) => param!)
        const body = Object.fromEntries(
          params.map((param) => [param, idIn(pattern.split('/{')[0]!)]),
        )
        const { status, text } = await daemon.request('POST', `/tools/${tool}`, { token, body })
        results.push({ name: `tool ${tool}`, status, text })
      }
      const refused = results.filter(({ status }) => status !== 200).map(({ name }) => name)
      assert.deepEqual([...new Set(refused)].toSorted(), REFUSED)
      assert(results.length - refused.length > 100)

      await daemon.close()
      const { privateKeys, secrets } = await secretsIn(daemon.stateDir)
      assert.equal(secrets.length, 3, 'a connection, a guest code and the public code')
      const keychain = fileKeychain(daemon.stateDir, findKey(daemon.stateDir, null)!)
      const session = keychain.get('session')
      assert(session)
      const all: [string, Uint8Array][] = [
        ...secrets.map(({ id, k }): [string, Uint8Array] => [`K of ${id}`, k]),
        ...privateKeys.map(([use, secret]): [string, Uint8Array] => [`private ${use} key`, secret]),
        ...(await secretsOf(serverDir)),
        ['refresh token', Buffer.from(session, 'base64url')],
        ...[token, ...others].map((one): [string, Uint8Array] => ['token', Buffer.from(one)]),
      ]
      const needles = all.flatMap(([what, bytes]) => encodings(what, bytes))
      for (const { name, text } of results)
        assert.deepEqual(found(needles, [Buffer.from(text)], DEPTH), [], name)
    })

    it('gets no QR image of a guest code: in no format, as no tool, by no protocol', async (t) => {
      const { daemon } = await open(t)
      const body = { label: 'Plumber' }
      const { id } = await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/guest-codes', body)
      const { token } = await newToken(daemon)
      const path = QR.replace('{id}', id)
      for (const [query, accept] of [
        ['', '*/*'],
        ['', 'image/gif'],
        ['', 'application/json'],
        ['?format=svg', '*/*'],
        ['?format=gif', '*/*'],
      ] as const) {
        const headers = { Accept: accept }
        const { status, json } = await daemon.request('GET', path + query, { token, headers })
        assert.equal(status, 409)
        const { error, message } = json as { error: string; message: string }
        assert.deepEqual({ error, message }, { error: 'secret_unavailable', message: PICTURE })
      }
      for (const format of ['svg', 'gif']) {
        const args = { id, format }
        const byTool = await daemon.request('POST', '/tools/guest_codes_qr', { token, body: args })
        assert.equal(byTool.status, 409)
        assert.equal((byTool.json as { message: string }).message, PICTURE)
        const params = { name: 'guest_codes_qr', arguments: args }
        const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
        const headers = { Accept: 'application/json, text/event-stream' }
        const byMcp = await daemon.request('POST', '/mcp', { token, body: message, headers })
        assert.match(byMcp.text, /secret_unavailable/)
        assert(byMcp.text.includes(PICTURE))
      }
      for (const scope of ['write', 'full'] as const) {
        const { token: wider } = await newToken(daemon, { scope })
        const picture = await daemon.request('GET', path, { token: wider })
        assert.equal(`${picture.status} ${picture.headers['content-type']}`, '200 image/svg+xml')
      }
    })

    it('gets a link to an export that ends with the token', async (t) => {
      const { daemon } = await open(t)
      const ids = await populate(daemon)
      const id = ids.get('exports')!
      const [one, other] = [await newToken(daemon), await newToken(daemon)]
      const links = [await linkWith(daemon, one.token, id), await linkWith(daemon, one.token, id)]
      const stored = await linkWith(daemon, other.token, id)
      const owners = await linkWith(daemon, daemon.owner(), id)
      for (const { url, expires_at } of [...links, stored, owners]) {
        assert.equal(await statusOf(url), 200)
        assert(Date.parse(expires_at) - Date.now() <= 300_000, 'five minutes at most')
      }
      await asOwner(daemon, 'DELETE', `/api/v1/api-tokens/${one.id}`)
      assert.deepEqual(await Promise.all(links.map(({ url }) => statusOf(url))), [404, 404])
      assert.deepEqual(
        await Promise.all([stored, owners].map(({ url }) => statusOf(url))),
        [200, 200],
      )

      const brief = await newToken(daemon, { expires_in: 60 })
      const { expires_at } = await linkWith(daemon, brief.token, id)
      assert(Date.parse(expires_at) <= Date.parse(brief.expires_at!), expires_at)
    })
  })
