/**
 * Subscriptions over standard input and output: `countersignd mcp` reads the events of the running
 * daemon while its client subscribes to resources.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { eventText } from '../../src/api/event-stream.ts'
import { stateSecret } from '../../src/storage/runtime-file.ts'
import type { TestDaemon } from '../daemon.ts'
import { PROGRAM, environment } from '../e2e/program.ts'
import { asOwner, newOrganisation } from '../handlers/people.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { type Version, connected, overStdio } from './connected.ts'
import { daemonAt } from './daemon-at.ts'
import { firstSdkOverStdio } from './first-sdk.ts'
import { noticesOf, noticesTo } from './notices.ts'
import { standIn } from './stand-in.ts'

const [EVENTS, CONNECTIONS, GUEST_CODES] = [
  'countersign://events',
  'countersign://connections',
  'countersign://guest-codes',
]
const ERAS = ['2025-11-25', '2026-07-28'] as const

/** Connects a client of `countersignd mcp` over a state folder. */
const clientOf = (
  t: TestContext,
  stateDir: string,
  version: Version,
  { args = [], env = {} }: { args?: string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<Client> => connected(t, overStdio(stateDir, args, env), version)

/** Subscribes as the version does it; returns a function that ends the subscriptions. */
async function subscribe(client: Client, uris: string[]): Promise<() => Promise<unknown>> {
  if (client.getNegotiatedProtocolVersion() === '2026-07-28') {
    const subscription = await client.listen({ resourceSubscriptions: uris })
    return () => subscription.close()
  }
  for (const uri of uris) await client.subscribeResource({ uri })
  return () => Promise.all(uris.map((uri) => client.unsubscribeResource({ uri })))
}

const guestCode = (daemon: TestDaemon) =>
  asOwner(daemon, 'POST', '/api/v1/guest-codes', { label: 'Ann' })

for (const version of ERAS)
  describe(`subscriptions over standard input and output, ${version}`, () => {
    it('a notice follows each change of a resource, also after the daemon was started again', async (t) => {
      const dir = freshFolder(t)
      const first = await daemonAt(t, dir)
      const client = await clientOf(t, dir, version)
      assert.deepEqual(client.getServerCapabilities()?.resources, { subscribe: true })
      const notices = noticesTo(client)
      await subscribe(client, [GUEST_CODES, CONNECTIONS])
      await guestCode(first)
      assert.equal(await notices.next(), GUEST_CODES)
      await asOwner(first, 'POST', '/api/v1/connections', { name: 'Bank' })
      assert.equal(await notices.next(), CONNECTIONS)
      await first.stop()
      const second = await daemonAt(t, dir)
      await guestCode(second)
      assert.equal(await notices.next(), GUEST_CODES)
      const { contents } = await client.readResource({ uri: GUEST_CODES })
      const { items } = JSON.parse((contents[0] as { text: string }).text) as { items: unknown[] }
      assert.equal(items.length, 2)
      assert.deepEqual(notices.left(), [])
    })

    it('before the daemon was started', async (t) => {
      const dir = freshFolder(t)
      const client = await clientOf(t, dir, version)
      const notices = noticesTo(client)
      await subscribe(client, [GUEST_CODES])
      await guestCode(await daemonAt(t, dir))
      assert.equal(await notices.next(), GUEST_CODES)
    })

    it('the events are read only while there is a subscription', async (t) => {
      const dir = freshFolder(t)
      stateSecret(dir)
      const streams: ServerResponse[] = []
      const daemon = await standIn(t, dir, (_req, res) => {
        res.writeHead(200, { 'Content-Type': 'text/event-stream' })
        res.write(eventText('guest_code.created', { id: 'evt_1' }, 'evt_1'))
        streams.push(res)
      })
      const client = await clientOf(t, dir, version)
      const notices = noticesTo(client)
      assert.equal(daemon.asked.length, 0)
      const end = await subscribe(client, [GUEST_CODES])
      assert.equal(await notices.next(), GUEST_CODES)
      assert.match(daemon.asked[0]?.path ?? '', /^\/api\/v1\/events\?since=20.*&types=/)
      await end()
      await daemon.left()
      const another = await subscribe(client, [EVENTS])
      assert.equal(await notices.next(), EVENTS)
      assert.equal(daemon.asked.length, 2)
      // If events are missing, each resource may have changed.
      streams.at(-1)?.write(eventText('gap', {}))
      assert.equal(await notices.next(), EVENTS)
      const closed = once(streams.at(-1) as ServerResponse, 'close')
      await another()
      await closed
      await daemon.left()
    })

    it('a client that leaves ends the stream', async (t) => {
      const dir = freshFolder(t)
      stateSecret(dir)
      const daemon = await standIn(t, dir, (_req, res) => {
        res.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(eventText('gap', {}))
      })
      const client = await clientOf(t, dir, version)
      const notices = noticesTo(client)
      await subscribe(client, [EVENTS])
      await notices.next()
      await client.close()
      await daemon.left()
    })

    it('without the scope full there is no notice of organisations', async (t) => {
      const dir = freshFolder(t)
      const daemon = await daemonAt(t, dir)
      // The first sync reports nothing.
      await asOwner(daemon, 'POST', '/api/v1/sync')
      const [narrow, wide] = await Promise.all([
        clientOf(t, dir, version, { args: ['--scope', 'read'] }),
        clientOf(t, dir, version, { args: ['--scope', 'full'] }),
      ])
      const [without, withThem] = [noticesTo(narrow), noticesTo(wide)]
      await subscribe(narrow, [EVENTS])
      await subscribe(wide, [EVENTS])
      await newOrganisation(daemon, 'Acme')
      assert.equal(await withThem.next(), EVENTS)
      await guestCode(daemon)
      assert.equal(await without.next(), EVENTS)
      assert.deepEqual(without.left(), [])
      const { contents } = await narrow.readResource({ uri: EVENTS })
      assert(!JSON.stringify(contents).includes('org.'), JSON.stringify(contents))
    })
  })

it('the newest version learns that a resource is unknown', async (t) => {
  const client = await clientOf(t, freshFolder(t), '2026-07-28')
  const asked = ['countersign://nothing', EVENTS]
  const { honoredFilter } = await client.listen({ resourceSubscriptions: asked })
  assert.deepEqual(honoredFilter, { resourceSubscriptions: [EVENTS] })
})

it('a refused subscription ends the stream', async (t) => {
  const dir = freshFolder(t)
  stateSecret(dir)
  const daemon = await standIn(t, dir, (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(eventText('gap', {}))
  })
  const client = await clientOf(t, dir, '2026-07-28')
  const asked = daemon.next()
  const uris = [EVENTS, 5 as unknown as string]
  await assert.rejects(client.listen({ resourceSubscriptions: uris }), { code: -32602 })
  await asked
  await daemon.left()
})

it('an earlier version cannot subscribe to an unknown resource', async (t) => {
  const client = await clientOf(t, freshFolder(t), '2025-11-25')
  await assert.rejects(client.subscribeResource({ uri: 'countersign://nothing' }), {
    code: -32602,
  })
})

it('after its token was revoked there are no notices, until there is another one', async (t) => {
  const dir = freshFolder(t)
  const daemon = await daemonAt(t, dir)
  const create = () =>
    asOwner<{ id: string; token: string }>(daemon, 'POST', '/api/v1/token', {
      name: 'ends',
      scope: 'read',
    })
  const file = join(freshFolder(t), 'token')
  const { id, token } = await create()
  writeFileSync(file, token, { mode: 0o600 })
  const client = await clientOf(t, dir, '2026-07-28', { env: { SVC_TOKEN_FILE: file } })
  const notices = noticesTo(client)
  await subscribe(client, [GUEST_CODES])
  await guestCode(daemon)
  assert.equal(await notices.next(), GUEST_CODES)
  await asOwner(daemon, 'DELETE', `/api/v1/api-tokens/${id}`)
  await guestCode(daemon)
  await assert.rejects(client.readResource({ uri: GUEST_CODES }), { code: -32600 })
  assert.deepEqual(notices.left(), [])
  writeFileSync(file, (await create()).token)
  assert.equal(await notices.next(), GUEST_CODES)
})

it('the client of the first SDK gets notices', async (t) => {
  const dir = freshFolder(t)
  const daemon = await daemonAt(t, dir)
  const client = await firstSdkOverStdio(
    t,
    [PROGRAM, 'mcp'],
    environment(dir) as Record<string, string>,
  )
  const notices = noticesOf({
    hear: (handle) =>
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
        handle(params.uri),
      ),
  })
  await client.subscribeResource({ uri: GUEST_CODES })
  await guestCode(daemon)
  assert.equal(await notices.next(), GUEST_CODES)
})
