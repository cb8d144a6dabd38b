/** Resources over HTTP: a client reads them, and gets notices of changes on a stream. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { type TestContext, after, before, describe, it } from 'node:test'
import type { Client } from '@modelcontextprotocol/client'
import { type TestDaemon, startDaemon } from '../daemon.ts'
import { asOwner, newMachine, newOrganisation } from '../handlers/people.ts'
import { PATHS, VERSIONS, connected, overHttp } from './connected.ts'
import { firstSdkOverHttp } from './first-sdk.ts'
import { noticesTo } from './notices.ts'
import { repliesOf, speak, spoken } from './speaking.ts'

const [EVENTS, CONNECTIONS, GUEST_CODES] = [
  'countersign://events',
  'countersign://connections',
  'countersign://guest-codes',
]
const NAMES = ['events', 'connections', 'guest-codes', 'invitations', 'notifications', 'status']
const ROUTES: readonly (readonly [uri: string, path: string])[] = [
  [CONNECTIONS, '/api/v1/connections'],
  ['countersign://invitations', '/api/v1/invitations'],
  ['countersign://notifications', '/api/v1/notifications'],
]

let daemon: TestDaemon
before(async () => {
  daemon = await startDaemon()
})
after(() => daemon.close())

const guestCode = (at = daemon, label = 'Ann') =>
  asOwner<{ id: string }>(at, 'POST', '/api/v1/guest-codes', { label })
const page = (token: string, query: string) =>
  daemon.request('GET', `/api/v1/events?wait=0&${query}`, { token })
const since = async (token: string) => ((await page(token, '')).json as { since: string }).since

/** Reads a resource, which is JSON. */
async function read(client: Client, uri: string): Promise<unknown> {
  const { contents } = await client.readResource({ uri })
  const [content] = contents as { uri: string; mimeType: string; text: string }[]
  assert.deepEqual([contents.length, content?.uri, content?.mimeType], [1, uri, 'application/json'])
  return JSON.parse(content?.text ?? '')
}

const clientOf = (t: TestContext, token: string, at = daemon) =>
  connected(t, overHttp(at.address, '/mcp', token))

/** Subscribes; returns the subscription and the notices. */
async function subscribed(t: TestContext, token: string, uris: string[], at = daemon) {
  const client = await clientOf(t, token, at)
  const notices = noticesTo(client)
  const subscription = await client.listen({ resourceSubscriptions: uris })
  assert.deepEqual(subscription.honoredFilter, { resourceSubscriptions: uris })
  return { ...notices, subscription }
}

describe('resources', () => {
  for (const path of PATHS)
    for (const version of VERSIONS)
      it(`${version} at ${path}: each is the answer of its route`, async (t) => {
        const token = await daemon.token('read')
        const client = await connected(t, overHttp(daemon.address, path, token), version)
        const { resources } = await client.listResources()
        assert.deepEqual(
          resources.map(({ name }) => name),
          NAMES,
        )
        const { resourceTemplates } = await client.listResourceTemplates()
        assert.deepEqual(
          resourceTemplates.map(({ uriTemplate }) => uriTemplate),
          ['countersign://connections/{connection}'],
        )
        for (const [uri, route] of ROUTES) {
          const { json } = await daemon.request('GET', route, { token })
          assert.deepEqual(await read(client, uri), json, uri)
        }
      })

  it('guest codes: without the words of this minute, which the tool returns', async (t) => {
    await guestCode()
    const client = await clientOf(t, await daemon.token('read'))
    const { structuredContent } = await client.callTool({ name: 'guest_codes_list', arguments: {} })
    const { items } = structuredContent as { items: { code: unknown }[] }
    assert(items.length > 0 && items.every(({ code }) => code !== null))
    const got = (await read(client, GUEST_CODES)) as { items: object[] }
    assert.equal(got.items.length, items.length)
    for (const [at, guest] of got.items.entries()) {
      assert(!('code' in guest))
      assert.deepEqual({ ...guest, code: items[at]?.code }, items[at])
    }
  })

  it('the status, of the signed-in device', async (t) => {
    const client = await clientOf(t, await daemon.token('read'))
    const { authenticated } = (await read(client, 'countersign://status')) as {
      authenticated: boolean
    }
    assert.equal(authenticated, true)
  })

  it('a connection, by its name or id; the clients may not store it', async (t) => {
    const name = 'Mum & Dad/50%'
    const { id } = await asOwner<{ id: string }>(daemon, 'POST', '/api/v1/connections', { name })
    const token = await daemon.token('read')
    const client = await clientOf(t, token)
    const { json } = await daemon.request('GET', `/api/v1/connections/${id}`, { token })
    for (const named of [name, name.toUpperCase(), id])
      assert.deepEqual(await read(client, `${CONNECTIONS}/${encodeURIComponent(named)}`), json)
    const { reply } = await speak(daemon.address, token, 'modern', {
      method: 'resources/read',
      params: { uri: `${CONNECTIONS}/${id}` },
    })
    const { ttlMs, cacheScope } = reply.result as Record<string, unknown>
    assert.deepEqual([ttlMs, cacheScope], [0, 'private'])
  })

  const faults: [address: string, code: number, error?: string][] = [
    ['countersign://connections/no-one', -32600, 'not_found'],
    ['countersign://connections/%', -32602],
    ['countersign://connections/a/b', -32602],
    ['countersign://connections/', -32602],
  ]
  for (const [uri, expected, refused] of faults)
    it(`${uri} is ${expected}`, async (t) => {
      const client = await clientOf(t, await daemon.token('read'))
      await assert.rejects(client.readResource({ uri }), (error: Error) => {
        const { code, data } = error as Error & { code?: number; data?: { error?: string } }
        assert.deepEqual([code, data?.error], [expected, refused])
        return true
      })
    })

  it('events: those of the last hour, and the place with which to continue', async (t) => {
    await asOwner(daemon, 'POST', '/api/v1/sync')
    const place = await since(daemon.owner())
    await newOrganisation(daemon, 'Bakers')
    await asOwner(daemon, 'GET', `/api/v1/events?since=${place}&types=org.*&wait=60`)
    for (const scope of ['read', 'full'] as const) {
      const token = await daemon.token(scope)
      const { json } = await page(token, 'since=2000-01-01T00:00:00Z')
      const got = await read(await clientOf(t, token), EVENTS)
      assert.deepEqual(got, json)
      assert.equal(JSON.stringify(got).includes('org.joined'), scope === 'full')
    }
  })

  it('the error of the route is an error of the protocol', async (t) => {
    const machine = await newMachine(daemon)
    const client = await clientOf(t, await machine.token('read'))
    await assert.rejects(client.readResource({ uri: EVENTS }), (error: Error) => {
      const { code, data } = error as Error & { code?: number; data?: { error: string } }
      assert.deepEqual([code, data?.error], [-32600, 'no_device'])
      return true
    })
  })

  it('an unknown address is -32602, and quoted shortly', async () => {
    const token = await daemon.token('read')
    for (const [era, name] of [
      ['legacy', 'nothing'],
      ['legacy', 'x'.repeat(100_000)],
      ['modern', 'nothing'],
    ] as const) {
      const { reply } = await speak(daemon.address, token, era, {
        method: 'resources/read',
        params: { uri: `countersign://${name}` },
      })
      assert.equal(reply.error?.code, -32602)
      assert(JSON.stringify(reply).length < 1000)
    }
  })
})

describe('subscriptions over HTTP', () => {
  it('a notice follows each change of a resource, and nothing else', async (t) => {
    const token = await daemon.token('read')
    const codes = await subscribed(t, token, [GUEST_CODES])
    const all = await subscribed(t, token, [EVENTS, CONNECTIONS, GUEST_CODES])
    await asOwner(daemon, 'POST', '/api/v1/connections', { name: 'Bank' })
    assert.deepEqual([await all.next(), await all.next()].toSorted(), [CONNECTIONS, EVENTS])
    const { id } = await guestCode()
    assert.equal(await codes.next(), GUEST_CODES)
    // The connection causes a sync. Its event may have a notice of its own.
    while ((await all.next()) !== GUEST_CODES);
    await asOwner(daemon, 'DELETE', `/api/v1/guest-codes/${id}`)
    assert.equal(await codes.next(), GUEST_CODES)
    assert.deepEqual(codes.left(), [])
  })

  it('after a notice, the resource has the change', async (t) => {
    const token = await daemon.token('read')
    const client = await clientOf(t, token)
    const notices = noticesTo(client)
    await client.listen({ resourceSubscriptions: [EVENTS] })
    const { id } = await guestCode(daemon, 'Cleo')
    assert.equal(await notices.next(), EVENTS)
    assert(JSON.stringify(await read(client, EVENTS)).includes(id))
  })

  it('a token without the scope full hears nothing of organisations', async (t) => {
    const own = await startDaemon()
    t.after(() => own.close())
    // The first sync reports nothing.
    await asOwner(own, 'POST', '/api/v1/sync')
    const without = await subscribed(t, await own.token('read'), [EVENTS], own)
    const withThem = await subscribed(t, await own.token('full'), [EVENTS], own)
    assert.equal(await without.next(), EVENTS, 'the other token was created')
    await newOrganisation(own, 'Acme')
    assert.equal(await withThem.next(), EVENTS)
    await guestCode(own)
    assert.equal(await without.next(), EVENTS)
    assert.deepEqual(without.left(), [])
  })

  it('a stream ends with its token', async (t) => {
    const create = async (more: object) =>
      (
        await daemon.request('POST', '/api/v1/token', {
          body: { name: 'ends', scope: 'read', ...more },
        })
      ).json as { id: string; token: string }
    const [revoked, short] = [await create({}), await create({ expires_in: 1 })]
    const ending = await Promise.all(
      [revoked, short].map(({ token }) => subscribed(t, token, [EVENTS])),
    )
    await asOwner(daemon, 'DELETE', `/api/v1/api-tokens/${revoked.id}`)
    const ended = await Promise.all(ending.map(({ subscription }) => subscription.closed))
    assert.deepEqual(ended, ['graceful', 'graceful'])
    // The event of the revocation itself is for those who may still read.
    assert.deepEqual(ending[0]?.left(), [])
  })

  it('a daemon that stops ends its streams', async (t) => {
    const own = await startDaemon()
    const { subscription } = await subscribed(t, await own.token('read'), [EVENTS], own)
    const [ended] = await Promise.all([subscription.closed, own.close()])
    assert.equal(ended, 'graceful')
  })

  it('a machine account has no events here, and gets the error of their route', async (t) => {
    const machine = await newMachine(daemon)
    const client = await clientOf(t, await machine.token('read'))
    await assert.rejects(client.listen({ resourceSubscriptions: [EVENTS] }), /no device/)
  })

  it('without a resource, the subscription ends at once', async (t) => {
    const client = await clientOf(t, await daemon.token('read'))
    for (const filter of [
      { toolsListChanged: true },
      { resourcesListChanged: true },
      { resourceSubscriptions: [] },
      { resourceSubscriptions: ['countersign://nothing', 'https://example.org/'] },
    ]) {
      const { honoredFilter, closed } = await client.listen(filter)
      assert.deepEqual([honoredFilter, await closed], [{}, 'graceful'])
    }
  })

  it('the acknowledgement leaves out what is no resource', async (t) => {
    const client = await clientOf(t, await daemon.token('read'))
    const asked = ['countersign://nothing', EVENTS]
    const { honoredFilter } = await client.listen({ resourceSubscriptions: asked })
    assert.deepEqual(honoredFilter, { resourceSubscriptions: [EVENTS] })
  })

  it('an invalid filter is -32602', async () => {
    const token = await daemon.token('read')
    for (const notifications of [undefined, null, [], { resourceSubscriptions: [EVENTS, 5] }]) {
      const { reply } = await speak(daemon.address, token, 'modern', {
        method: 'subscriptions/listen',
        params: { notifications },
      })
      assert.equal(reply.error?.code, -32602, JSON.stringify(notifications))
    }
  })

  it('earlier versions have no stream: they cannot subscribe', async (t) => {
    const token = await daemon.token('read')
    const client = await connected(t, overHttp(daemon.address, '/mcp', token), '2025-11-25')
    assert.deepEqual(client.getServerCapabilities()?.resources, {})
    const first = await firstSdkOverHttp(t, new URL('/mcp', daemon.address), token)
    assert.equal((await first.listResources()).resources.length, NAMES.length)
    const { reply } = await speak(daemon.address, token, 'legacy', {
      method: 'resources/subscribe',
      params: { uri: EVENTS },
    })
    assert.equal(reply.error?.code, -32601)
  })
})

describe('the number of streams', () => {
  /** Opens a stream as a program does that accepts only JSON. Returns once it is acknowledged. */
  const open = (token: string) => {
    const { message, headers } = spoken('modern', {
      method: 'subscriptions/listen',
      params: { notifications: { resourceSubscriptions: [EVENTS] } },
    })
    return new Promise<{ status: number; retryAfter: unknown; leave: () => Promise<void> }>(
      (resolve, reject) => {
        const req = request(`${daemon.address}/mcp`, {
          method: 'POST',
          agent: false,
          headers: {
            ...headers,
            Accept: 'application/json',
            Authorization: `Bearer ${token}`,
            'Content-Type': 'application/json',
          },
        })
        req.once('error', reject)
        req.once('response', (res) => {
          res.once('data', (bytes: Buffer) => {
            const { statusCode: status = 0, headers: fields } = res
            const text = bytes.toString()
            if (status === 200)
              assert.match(
                JSON.stringify(repliesOf({ text } as Parameters<typeof repliesOf>[0])),
                /subscriptions\/acknowledged/,
              )
            const gone = new Promise<void>((closed) => res.once('close', () => closed()))
            res.on('error', () => undefined)
            const leave = () => {
              req.destroy()
              return gone
            }
            resolve({ status, retryAfter: fields['retry-after'], leave })
          })
        })
        req.end(JSON.stringify(message))
      },
    )
  }

  it('is limited for each token with the other readers of events, and a client that leaves frees its place', async () => {
    const token = await daemon.token('read')
    const streams = await Promise.all(Array.from({ length: 128 }, () => open(token)))
    assert(streams.every(({ status }) => status === 200))
    const { status, retryAfter } = await open(token)
    assert.deepEqual([status, retryAfter], [429, '10'])
    const { status: ofEvents } = await daemon.request('GET', '/api/v1/events', { token })
    assert.equal(ofEvents, 429)
    await Promise.all(streams.map(({ leave }) => leave()))
    for (;;) {
      // The daemon sees later than the client that the connections are closed.
      const { status: again, leave } = await open(token)
      await leave()
      if (again === 200) break
    }
  })
})
