/**
 * Tests the answer of every row that the daemon answers or adds to, by caller.
 * The callers are a machine account’s token, a daemon without a signed-in user, and a device that
 * waits for approval.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { SignIn } from '../../src/api/local/index.ts'
import { rest } from '../../src/api/rest/index.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { type Answer, type TestDaemon, startDaemon } from '../daemon.ts'
import { type Machine, approveDevice, asOwner, newMachine, signIn } from './people.ts'

type Names =
  | 'connection'
  | 'invitation'
  | 'guest'
  | 'external'
  | 'tag'
  | 'device'
  | 'account'
  | 'token'
  | 'request'
  | 'export'
  | 'webhook'
  | 'stamp'
/** The ids of the owner’s resources, by kind. */
type Ids = Readonly<Record<Names, string>>

/** A request to a row: its query, its body, and the kind of the owner’s resource in its path. */
const ROWS: Readonly<Record<string, { of?: Names; query?: string; body?: unknown }>> = {
  'health.read': {},
  'health.ready': {},
  'metrics.read': {},
  'status.read': {},
  'sync.read': {},
  'doctor.read': {},
  'sync.run': {},
  'token.create': { body: { name: 'n', scope: 'read' } },
  'openapi.read': {},
  'docs.read': {},
  'tools.catalogue': {},
  'verify.words': { body: { words: 'matador carload recede' } },
  'verify.challenge': { body: { purpose: 'Pay 12' } },
  'verify.public': { body: { words: 'matador carload recede' } },
  'trustCards.list': {},
  'trustCards.create': { body: { user_id: 'acc_01k9zq3v5w8x2y4z6a8b0c2d4e' } },
  'trustCards.update': { of: 'account', body: { confirmed: true } },
  'trustCards.delete': { of: 'account' },
  'trustCards.history': { of: 'account' },
  'trust.metrics': {},
  'preferences.read': {},
  'preferences.update': { body: { public_code: true } },
  'profile.read': {},
  'profile.update': { body: { headline: 'x' } },
  'stamp.create': { body: { content: 'x' } },
  'stamps.list': {},
  'stamps.read': { of: 'stamp' },
  'stamps.check': { body: { sha256: '0'.repeat(64), link: 'x' } },
  'verificationLog.list': {},
  'connections.list': {},
  'connections.create': { body: { name: 'n' } },
  'connections.read': { of: 'connection' },
  'connections.update': { of: 'connection', body: { name: 'm' } },
  'connections.delete': { of: 'connection' },
  'connections.code': { of: 'connection' },
  'connections.favorite': { of: 'connection', body: { favorite: true } },
  'connections.rotate': { of: 'connection' },
  'members.add': { of: 'connection', body: { email: 'bob@example.org' } },
  'members.remove': { of: 'connection' },
  'members.role': { of: 'connection', body: { role: 'owner' } },
  'invitations.list': {},
  'invitations.pending': {},
  'invitations.approve': { of: 'invitation' },
  'contactWords.create': { of: 'invitation' },
  'firstContacts.list': {},
  'invitations.decline': { of: 'invitation' },
  'invitations.withdraw': { of: 'invitation' },
  'guestCodes.list': {},
  'guestCodes.create': { body: { label: 'n' } },
  'guestCodes.delete': { of: 'guest' },
  'guestCodes.qr': { of: 'guest' },
  'openLinkRequests.approve': { of: 'request' },
  'guestCodes.send': { of: 'guest', body: { channel: 'email', to: 'ann@example.org' } },
  'externalMembers.delete': { of: 'external' },
  'tags.assign': { of: 'tag' },
  'exports.download': { of: 'export' },
  'account.delete': {},
  'exports.create': {},
  'profiles.keys': { of: 'account' },
  'devices.delete': { of: 'device' },
  'approvals.read': { of: 'device' },
  'approvals.begin': { of: 'device' },
  'approvals.advance': { of: 'device' },
  'approvals.create': { of: 'device', body: { words: 'matador carload recede nervous' } },
  'apiTokens.list': {},
  'apiTokens.create': { body: { name: 'n', scope: 'read' } },
  'apiTokens.delete': { of: 'token' },
  'audit.list': {},
  'audit.chain': {},
  'events.follow': { query: '?wait=0' },
  'webhooks.list': {},
  'webhooks.create': { body: { url: 'https://example.org/', types: ['token.*'] } },
  'webhooks.update': { of: 'webhook', body: { name: 'n' } },
  'webhooks.delete': { of: 'webhook' },
  'webhooks.test': { of: 'webhook' },
  'webhooks.deliveries': { of: 'webhook' },
  'context.activeOrg': { body: { organisation_id: null } },
  // Samples of the rows that only the account answers.
  'context.read': {},
  'devices.list': {},
  'profiles.read': { of: 'account' },
}
/** Ids in valid form that name none of the owner’s resources. */
const NONE: Ids = {
  connection: 'con_01k9zq3v5w8x2y4z6a8b0c2d4e',
  invitation: 'inv_01k9zq3v5w8x2y4z6a8b0c2d4e',
  guest: 'gst_01k9zq3v5w8x2y4z6a8b0c2d4e',
  external: 'ext_01k9zq3v5w8x2y4z6a8b0c2d4e',
  tag: 'tag_01k9zq3v5w8x2y4z6a8b0c2d4e',
  device: 'dev_01k9zq3v5w8x2y4z6a8b0c2d4e',
  account: 'acc_01k9zq3v5w8x2y4z6a8b0c2d4e',
  token: 'tok_01k9zq3v5w8x2y4z6a8b0c2d4e',
  request: 'req_01k9zq3v5w8x2y4z6a8b0c2d4e',
  export: 'exp_01k9zq3v5w8x2y4z6a8b0c2d4e',
  webhook: 'whk_01k9zq3v5w8x2y4z6a8b0c2d4e',
  stamp: 'stm_01k9zq3v5w8x2y4z6a8b0c2d4e',
}

/** A status, the code of an error, or the required content of the answer. */
type Expected = number | string | object

const routes = new Map(rowsOf(rest).map(({ group, name, route }) => [`${group}.${name}`, route]))

it('the table covers every row that the daemon answers', () => {
  const answered = [...routes].filter(([, { by }]) => by === 'daemon' || by === 'both')
  assert.deepEqual(
    answered.map(([row]) => row).filter((row) => !(row in ROWS)),
    [],
  )
})

async function ask(daemon: TestDaemon, row: string, token: string, ids: Ids): Promise<Answer> {
  const { of, query = '', body } = ROWS[row] as (typeof ROWS)[string]
  const route = routes.get(row)
  assert(route)
  const filled = route.path.replace('{mid}', NONE.account).replace('{cid}', ids.connection)
  const path = of === undefined ? filled : filled.replace('{id}', ids[of])
  return daemon.request(route.method, path + query, { token, body })
}

function meets({ status, json, text }: Answer, expected: Expected): void {
  if (typeof expected === 'number') assert.equal(status, expected, text)
  else if (typeof expected === 'string')
    assert.equal((json as { error?: string }).error, expected, text)
  else assert.partialDeepStrictEqual(json, expected)
}

const servers: TestDaemon[] = []
const daemonOf = async (env: Record<string, string> = {}) => {
  const daemon = await startDaemon(env)
  servers.push(daemon)
  return daemon
}
/** The account server, inside another account’s daemon. */
let home: TestDaemon
/** A daemon that uses this account server and has no signed-in user. */
let empty: TestDaemon
let machine: Machine
let owned: Ids

before(async () => {
  home = await daemonOf()
  empty = await daemonOf({ SVC_BACKEND_URL: home.accountAddress })
  machine = await newMachine(home)
  const made = async (path: string, body: object) =>
    (await asOwner<{ id: string }>(home, 'POST', path, body)).id
  const { user } = await asOwner<{ user: { id: string } }>(home, 'GET', '/api/v1/context')
  const devices = await asOwner<{ items: { id: string }[] }>(home, 'GET', '/api/v1/devices')
  const connection = await made('/api/v1/connections', { name: 'Bank' })
  const invited = { email: 'ann@example.org' }
  owned = {
    connection,
    invitation: await made(`/api/v1/connections/${connection}/members`, invited),
    guest: await made('/api/v1/guest-codes', { label: 'Ann' }),
    external: await made('/api/v1/external-members', { display_name: 'Ann' }),
    tag: await made('/api/v1/tags', { name: 'Work' }),
    token: await made('/api/v1/api-tokens', { name: 'mine', scope: 'full' }),
    device: devices.items[0]?.id as string,
    account: user.id,
    request: NONE.request,
    export: NONE.export,
    webhook: await made('/api/v1/webhooks', {
      url: 'https://example.org/',
      types: ['webhook.given_up'],
    }),
    stamp: await made('/api/v1/stamp', { content: 'x' }),
  }
  await asOwner(home, 'POST', '/api/v1/verify', { words: 'matador carload recede' })
})
after(async () => {
  for (const daemon of servers.toReversed()) await daemon.close()
})

describe('a machine token', () => {
  const nothing = { items: [], next_cursor: null }
  const column: Readonly<Record<string, Expected>> = {
    'health.read': 200,
    'health.ready': 'no_device',
    'metrics.read': 'no_device',
    'status.read': {
      authenticated: true,
      device_registered: null,
      global_key_active: null,
      cached_connections: null,
      last_sync_at: null,
    },
    'sync.read': 'no_device',
    'sync.run': 'no_device',
    'doctor.read': 'no_device',
    'token.create': 'no_device',
    'openapi.read': 200,
    'docs.read': 200,
    'tools.catalogue': 200,
    'verify.words': {
      verified: false,
      conclusive: false,
      reasons: ['nothing_cached'],
      checked: 0,
      unchecked: 0,
    },
    'verify.challenge': 'no_device',
    'verify.public': { found: false },
    'trustCards.list': nothing,
    'trustCards.create': 'not_found',
    'trustCards.update': 'not_found',
    'trustCards.delete': 'not_found',
    'trustCards.history': 'not_found',
    'trust.metrics': { following: 0 },
    'preferences.read': { public_code: false },
    'preferences.update': 'no_device',
    'profile.read': { public_code: null },
    'profile.update': { headline: 'x', public_code: null },
    'stamp.create': 'no_device',
    'stamps.list': 'no_device',
    'stamps.read': 'no_device',
    'stamps.check': 'no_device',
    'verificationLog.list': nothing,
    'connections.list': nothing,
    'connections.create': 'no_device',
    'connections.read': 'not_found',
    'connections.update': 'not_found',
    'connections.delete': 'not_found',
    'connections.code': 'no_device',
    'connections.favorite': 'not_found',
    'connections.rotate': 'no_device',
    'members.add': 'not_found',
    'members.remove': 'not_found',
    'members.role': 'no_device',
    'invitations.list': { received: [], sent: [] },
    'invitations.pending': { received: [], sent: [] },
    'invitations.approve': 'no_device',
    'invitations.decline': 'not_found',
    'contactWords.create': 'no_device',
    'firstContacts.list': 'no_device',
    'invitations.withdraw': 'not_found',
    'guestCodes.list': nothing,
    'guestCodes.create': 'no_device',
    'guestCodes.delete': 'not_found',
    'guestCodes.qr': 'no_device',
    'openLinkRequests.approve': 'no_device',
    'guestCodes.send': 'no_device',
    'externalMembers.delete': 'not_found',
    'tags.assign': 'not_found',
    'exports.download': 'not_found',
    // Without account.delete, which deletes the account of the caller:
    // test/handlers/account.test.ts.
    'profiles.keys': 200,
    'devices.delete': 'not_found',
    'approvals.read': 'no_device',
    'approvals.begin': 'no_device',
    'approvals.advance': 'no_device',
    'approvals.create': 'no_device',
    'apiTokens.list': 200,
    'apiTokens.create': 201,
    'apiTokens.delete': 'not_found',
    'audit.list': 'no_device',
    'audit.chain': 'no_device',
    'webhooks.list': 'no_device',
    'webhooks.create': 'no_device',
    'webhooks.update': 'no_device',
    'webhooks.delete': 'no_device',
    'webhooks.test': 'no_device',
    'webhooks.deliveries': 'no_device',
    'context.activeOrg': 'invalid_state',
    'context.read': { user: { kind: 'machine' } },
    'devices.list': nothing,
    'profiles.read': { kind: 'person' },
  }
  const places: [name: string, of: () => TestDaemon][] = [
    ['at the daemon of another account, with an embedded server', () => home],
    ['at a daemon without an account, with a remote server', () => empty],
  ]
  for (const [place, of] of places)
    describe(place, () => {
      let token = ''
      before(async () => {
        token = await machine.token('full')
      })
      for (const [row, expected] of Object.entries(column))
        it(`${row}: ${JSON.stringify(expected)}`, async () => {
          meets(await ask(of(), row, token, owned), expected)
        })

      it('reads its own account and its own tokens, and creates only such tokens', async () => {
        const { json } = await of().request('GET', '/api/v1/context', { token })
        assert.equal((json as { user: { id: string } }).user.id, machine.account)
        const body = { name: 'made', scope: 'read' }
        const made = (await of().request('POST', '/api/v1/api-tokens', { token, body })).json as {
          id: string
          token: string
        }
        assert.match(made.token, /^csm_/)
        const { items } = (await of().request('GET', '/api/v1/api-tokens', { token })).json as {
          items: { id: string }[]
        }
        assert(items.some(({ id }) => id === made.id))
        assert(items.every(({ id }) => id !== owned.token))
        const owners = await asOwner<typeof items>(of(), 'GET', '/api/v1/api-tokens')
        assert(!JSON.stringify(owners).includes(made.id))
        const gone = await of().request('DELETE', `/api/v1/api-tokens/${made.id}`, { token })
        assert.equal(gone.status, 204)
        const after = await of().request('GET', '/api/v1/context', { token: made.token })
        meets(after, 'invalid_token')
      })

      it('of scope read cannot change anything', async () => {
        const read = await machine.token('read')
        for (const row of ['connections.update', 'stamp.create', 'apiTokens.list'])
          meets(await ask(of(), row, read, owned), 'insufficient_scope')
        meets(await ask(of(), 'connections.list', read, owned), nothing)
      })

      it('cannot call a route of the command line', async () => {
        for (const path of ['/local/v1/sign-out', '/local/v1/machines'])
          meets(await of().request('POST', path, { token, body: {} }), 'forbidden')
      })

      it('is rejected if it is wrong, always with the same error', async () => {
        const wrong = token.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'))
        const unknown = 'csm_0000000000000000000000000000003Jc9BO'
        const sent = new Set<string>()
        for (const text of [wrong, unknown, 'csm_']) {
          const answer = await of().request('GET', '/api/v1/status', { token: text })
          meets(answer, 'invalid_token')
          assert.equal(answer.headers['www-authenticate'], 'Bearer error="invalid_token"')
          sent.add((answer.json as { message: string }).message)
        }
        assert.match([...sent].join(), /^This token is .*"countersignd machine token"\.$/)
      })
    })

  it('an API token of scope full cannot call routes of the command line either', async () => {
    const token = await home.token('full')
    for (const [method, path] of [
      ['GET', '/local/v1/sign-in'],
      ['POST', '/local/v1/sign-out'],
      ['POST', '/local/v1/nothing'],
    ] as const)
      meets(await home.request(method, path, { token }), 'forbidden')
    assert.equal((await home.request('GET', '/local/v1/sign-in')).status, 401)
  })

  it('calls with a machine token leave nothing at the daemon', async () => {
    const token = await machine.token('full')
    const log = async () => asOwner<object>(home, 'GET', '/api/v1/verification-log')
    const before = await log()
    await ask(home, 'verify.words', token, owned)
    assert.deepEqual(await log(), before)
    assert.equal((await ask(home, 'connections.read', home.owner(), owned)).status, 200)
  })
})

describe('the owner’s token without a signed-in account', () => {
  const column: Readonly<Record<string, Expected>> = {
    'health.read': 200,
    'health.ready': { status: 'ok' },
    'metrics.read': 200,
    'status.read': { authenticated: false, device_registered: false, cached_connections: 0 },
    'doctor.read': { checks: [{ name: 'configuration' }] },
    'token.create': 201,
    'openapi.read': 200,
    'docs.read': 200,
    'tools.catalogue': 200,
    'verify.words': { conclusive: false, reasons: ['nothing_cached'] },
    'apiTokens.list': 200,
    'apiTokens.create': 201,
    'apiTokens.delete': 'not_found',
    'audit.list': 200,
    'audit.chain': { ok: true },
    'events.follow': 200,
  }
  for (const row of Object.keys(ROWS)) {
    const expected = column[row] ?? 'not_signed_in'
    it(`${row}: ${JSON.stringify(expected)}`, async () => {
      meets(await ask(empty, row, await empty.token('full'), NONE), expected)
    })
  }

  it('the status names the remedy', async () => {
    const { json } = await ask(empty, 'status.read', empty.owner(), NONE)
    const { summary, backend } = json as { summary: string; backend: string }
    assert.match(summary, /countersignd login/)
    assert.equal(backend, home.accountAddress)
  })

  it('malformed words get their usual error', async () => {
    const token = empty.owner()
    const verify = (words: string) =>
      empty.request('POST', '/api/v1/verify', { token, body: { words } })
    meets(await verify('matador carload'), 'word_count')
    meets(await verify('matador carload recdee'), 'unknown_word')
  })
})

describe('two devices of a person', () => {
  let first: TestDaemon
  let second: TestDaemon
  let waiting: SignIn
  const email = 'ada@example.org'
  const devices = async (of: TestDaemon) =>
    (
      await asOwner<{ items: { id: string; state: string; current: boolean }[] }>(
        of,
        'GET',
        '/api/v1/devices',
      )
    ).items

  before(async () => {
    first = await daemonOf({ SVC_BACKEND_URL: home.accountAddress })
    second = await daemonOf({ SVC_BACKEND_URL: home.accountAddress })
    assert.equal((await signIn(first, home, email)).state, 'signed_in')
    await asOwner(first, 'POST', '/api/v1/connections', { name: 'Bank' })
    waiting = await signIn(second, home, email)
  })

  const column: Readonly<Record<string, Expected>> = {
    'health.read': 200,
    'health.ready': { status: 'ok' },
    'metrics.read': 200,
    'status.read': { authenticated: true, device_registered: false },
    'doctor.read': { checks: [{ name: 'configuration' }] },
    'token.create': 201,
    'openapi.read': 200,
    'docs.read': 200,
    'tools.catalogue': 200,
    'verify.words': { conclusive: false, reasons: ['nothing_cached'] },
    'trustCards.list': { items: [] },
    'trustCards.history': 'not_found',
    'trust.metrics': { following: 0 },
    'preferences.read': { public_code: false },
    'profile.read': { public_code: null },
    'verificationLog.list': { items: [] },
    'connections.list': { items: [{ name: 'Bank', secret_here: false }] },
    'invitations.list': { received: [], sent: [] },
    'invitations.pending': { received: [], sent: [] },
    'connections.read': 'not_found',
    'guestCodes.list': { items: [] },
    'exports.download': 'not_found',
    'profiles.keys': 200,
    'apiTokens.list': 200,
    'apiTokens.create': 201,
    'apiTokens.delete': 'not_found',
    'audit.list': 200,
    'audit.chain': { ok: true },
    'context.read': { user: { email } },
    'events.follow': 200,
    'devices.list': 200,
    'profiles.read': 200,
  }
  for (const row of Object.keys(ROWS)) {
    const expected = column[row] ?? 'no_device'
    it(`the second waits for approval: ${row}: ${JSON.stringify(expected)}`, async () => {
      assert.equal(waiting.state, 'awaiting_approval')
      const answer = await ask(second, row, await second.token('full'), {
        ...NONE,
        account: owned.account,
      })
      meets(answer, expected)
      if (expected === 'no_device')
        assert.match(answer.text, /waits for approval.*countersignd device approve/)
    })
  }

  it('after its approval it works like the first device, which can revoke it', async () => {
    const pending = (await devices(first)).find(({ state }) => state === 'pending')
    assert(pending)
    assert.equal(await approveDevice(first, second), pending.id)
    const status = await asOwner<object>(second, 'GET', '/api/v1/status')
    assert.partialDeepStrictEqual(status, { authenticated: true, device_registered: true })
    const synced = await asOwner<object>(second, 'POST', '/api/v1/sync')
    assert.partialDeepStrictEqual(synced, { last_sync: { ok: true, error: null } })
    assert.deepEqual(
      (await devices(second)).map(({ id, current }) => [id === pending.id, current]),
      [
        [true, true],
        [false, false],
      ],
    )
    await asOwner(second, 'POST', '/api/v1/stamp', { content: 'x' })

    const token = first.owner()
    const remove = (id: string) => first.request('DELETE', `/api/v1/devices/${id}`, { token })
    assert.equal((await remove(pending.id)).status, 204)
    assert.equal((await remove(pending.id)).status, 204, 'again')
    meets(
      await second.request('GET', '/api/v1/context', { token: second.owner() }),
      'not_signed_in',
    )
    const [own] = await devices(first)
    const refused = await remove(own?.id as string)
    meets(refused, 'invalid_state')
    assert.match(refused.text, /countersignd logout/)
    const bySecond = { token: second.owner() }
    meets(await second.request('POST', '/api/v1/sync', bySecond), 'not_signed_in')
    const answer = await asOwner<{ summary: string }>(second, 'GET', '/api/v1/status')
    assert.partialDeepStrictEqual(answer, { authenticated: false, device_registered: false })
  })

  it('a pending device can be rejected', async () => {
    const third = await daemonOf({ SVC_BACKEND_URL: home.accountAddress })
    await signIn(third, home, email)
    const pending = (await devices(first)).find(({ state }) => state === 'pending')
    assert(pending)
    await asOwner(first, 'DELETE', `/api/v1/devices/${pending.id}`)
    assert(!(await devices(first)).some(({ id }) => id === pending.id))
    meets(await third.request('GET', '/api/v1/context', { token: third.owner() }), 'not_signed_in')
  })
})
