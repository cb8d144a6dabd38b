/**
 * Two accounts on one server: each tries every id of the other on every route. The answer is the
 * same as for an unused id, and does not reveal the owner. The routes come from the table, so
 * that a new one is tried at once.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { askedBy } from './asking.ts'
import type { Json } from './caller.ts'
import { type Neighbour, startNeighbours } from './neighbours.ts'

/** Part of every text of the one account, and in no answer to the other. */
const CANARY = 'Kanarienvogel'

/** The ids of an account’s resources, by kind. */
type Owned = Readonly<Record<string, string>>

/** Creates one resource of each kind. */
async function oneOfEach(person: Neighbour, mailDir: string): Promise<Owned> {
  const { good, id: account, email } = person
  const named = { name: CANARY }
  const tag: Json = await good('POST', '/api/v1/tags', named)
  const preset: Json = await good('POST', '/api/v1/presets', { ...named, tag_ids: [tag.id] })
  const connection: Json = await good('POST', '/api/v1/connections', {
    ...named,
    preset_id: preset.id,
    invite: [{ email: `friend-of-${email}` }],
  })
  const { sent } = await good('GET', '/api/v1/invitations')
  const external: Json = await good('POST', '/api/v1/external-members', {
    display_name: CANARY,
    note: CANARY,
  })
  const guest: Json = await good('POST', '/api/v1/guest-codes', {
    label: CANARY,
    external_member_id: external.id,
  })
  const link: Json = await good('POST', '/api/v1/open-links', { title: CANARY })
  const request = await requested(person, link, mailDir)
  const turn: Json = await good('POST', '/api/v1/chat', { message: `${CANARY}: what is a stamp?` })
  const exported: Json = await good('POST', '/api/v1/exports')
  const devices: Json = await good('GET', '/api/v1/devices')
  const sessions: Json = await good('GET', '/api/v1/sessions')
  const mailbox: Json = await good('POST', '/api/v1/emails', { address: `second-${email}` })
  await good('PATCH', '/api/v1/profile', { headline: CANARY })
  return {
    account,
    tag: tag.id,
    preset: preset.id,
    connection: connection.id,
    invitation: sent[0].id,
    external: external.id,
    guest: guest.id,
    link: link.id,
    export: exported.id,
    device: devices.items[0].id,
    session: sessions.items[0].id,
    mailbox: mailbox.id,
    request,
    turn: turn.turn_id,
    conversation: turn.conversation_id,
  }
}

/** Submits a request by an open link and confirms its mailbox. Returns the id of the request. */
async function requested({ good, email }: Neighbour, link: Json, mailDir: string): Promise<string> {
  const asking = `asks-${email}`
  await askedBy(link.url, mailDir, asking, { display_name: CANARY, message: CANARY })
  const { items } = await good('GET', '/api/v1/open-links/requests')
  return items[0].id
}

/**
 * The kind of id in each parameter of a route, by group; `null`: the route is public, or its ids
 * belong to the daemon itself.
 */
const KINDS: Readonly<Record<string, Readonly<Record<string, string>> | null>> = {
  trustCards: { id: 'account' },
  connections: { id: 'connection' },
  members: { id: 'connection', mid: 'account' },
  invitations: { id: 'invitation' },
  contactWords: { id: 'invitation' },
  guestCodes: { id: 'guest' },
  externalMembers: { id: 'external' },
  tags: { id: 'tag', cid: 'connection' },
  presets: { id: 'preset' },
  openLinks: { id: 'link' },
  openLinkRequests: { id: 'request' },
  devices: { id: 'device' },
  approvals: { id: 'device' },
  sessions: { id: 'session' },
  exports: { id: 'export' },
  profiles: null,
  apiTokens: null,
  webhooks: null,
  stamps: null,
}

/** Valid bodies of the routes that need one. */
const BODIES: Readonly<Record<string, unknown>> = {
  'trustCards.update': { note: 'mine' },
  'connections.update': { name: 'mine' },
  'connections.favorite': { favorite: true },
  'members.role': { role: 'member' },
  'approvals.create': { words: 'matador carload recede nervous' },
  'members.add': { email: 'eve@example.org' },
  'guestCodes.send': { channel: 'email', to: 'eve@example.org' },
  'tags.update': { name: 'mine' },
  'presets.update': { name: 'mine' },
  'openLinks.slug': { slug: 'mine-now' },
}

/** Lists without pages. */
const WITHOUT_PAGES: readonly string[] = ['invitations', 'firstContacts']

const params = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)

/** Returns a route with ids in place of its parameters. */
const filled = (path: string, of: Readonly<Record<string, string>>) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => of[name] as string)

describe('objects of another account get the answer of unknown objects', () => {
  const afters: (() => unknown)[] = []
  let ada: Neighbour
  let bob: Neighbour
  let hers: Owned
  let his: Owned

  before(async () => {
    const t = { after: (fn: unknown) => void afters.push(fn as () => unknown) }
    const { mailDir, people } = await startNeighbours(t, ['ada', 'bob'])
    ;[ada, bob] = people as [Neighbour, Neighbour]
    hers = await oneOfEach(ada, mailDir)
    his = await oneOfEach(bob, mailDir)
  })
  after(async () => {
    for (const fn of afters.toReversed()) await fn()
  })

  /** Asserts that an answer to Bob has none of Ada’s ids and texts, except those that he sent. */
  function assertSilent(text: string, sent: string) {
    for (const [kind, id] of Object.entries(hers))
      assert(sent.includes(id) || !text.includes(id), `${kind} in ${text}`)
  }

  async function refused(method: string, path: string, body: unknown, status = 404) {
    // An API token may not approve a device.
    const ask = path.includes('/approval') ? bob.askAsOwner : bob.ask
    const answer = await ask(method, path, body)
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`)
    assertSilent(answer.text, `${path}${JSON.stringify(body)}`)
    assert(!answer.text.includes(CANARY) && !answer.text.includes(ada.email), answer.text)
  }

  // Organisations have such tests of their own: org-roles.test.ts.
  const personal = rowsOf(rest).filter(({ route }) => !route.path.startsWith('/api/v1/org/'))
  const rows = personal.filter(({ route }) => params(route.path).length > 0)

  for (const { group, name, route } of rows) {
    const row = `${group}.${name}`
    test(`${route.method} ${route.path}`, async () => {
      const kinds = KINDS[group]
      assert.notEqual(kinds, undefined, `say whose ids ${row} takes`)
      if (kinds === null || kinds === undefined) return
      const names = params(route.path)
      // Each parameter alone is hers, and then all of them.
      const attempts = [...names.map((one) => [one]), names]
      for (const stolen of attempts) {
        const ids = names.map((one) => {
          const owner = stolen.includes(one) ? hers : his
          return [one, owner[kinds[one] as string] as string]
        })
        // A member id is also not found because that account is no member of his own connection.
        const path = filled(route.path, Object.fromEntries(ids) as Owned)
        await refused(route.method, path, BODIES[row])
      }
    })
  }

  for (const [path, kind, bodyOf, status] of [
    ['connections', 'preset', (id: string) => ({ name: 'x', preset_id: id }), 404],
    ['presets', 'tag', (id: string) => ({ name: 'x', tag_ids: [id] }), 422],
    ['open-links', 'preset', (id: string) => ({ preset_id: id }), 404],
    ['guest-codes', 'external', (id: string) => ({ label: 'x', external_member_id: id }), 404],
    ['chat', 'conversation', (id: string) => ({ message: 'x', conversation_id: id }), 404],
    ['chat/rate', 'turn', (id: string) => ({ turn_id: id, rating: 'up' }), 404],
  ] as const)
    test(`POST /api/v1/${path} rejects a ${kind} of another account`, () =>
      refused('POST', `/api/v1/${path}`, bodyOf(hers[kind] as string), status))

  test('notifications of another account can neither be read nor deleted', async () => {
    const { items } = await ada.good('GET', '/api/v1/notifications')
    assert.notEqual(items.length, 0, 'the request by the open link is one')
    const { id } = items[0]
    const read = await bob.good('POST', '/api/v1/notifications/read', { ids: [id] })
    const deleted = await bob.good('DELETE', `/api/v1/notifications?id=${id}`)
    assert.deepEqual([read, deleted], [{ read: 0 }, { deleted: 0 }])
    assert.deepEqual((await ada.good('GET', '/api/v1/notifications')).items, items)
  })

  test('an organisation without membership cannot be made active', async () => {
    const body = { organisation_id: 'org_00000000000000000000000000' }
    await refused('POST', '/api/v1/context/active-org', body)
  })

  for (const { group, route } of personal.filter(
    ({ route: { method, path }, name }) =>
      method === 'GET' && params(path).length === 0 && name === 'list',
  ))
    test(`GET ${route.path} lists nothing of another account, with any cursor`, async () => {
      const mine = await ada.good(
        'GET',
        `${route.path}${WITHOUT_PAGES.includes(group) ? '' : '?limit=1'}`,
      )
      const cursor = mine.next_cursor as string | null | undefined
      const query = typeof cursor === 'string' ? `?cursor=${encodeURIComponent(cursor)}` : ''
      const { status, text } = await bob.ask('GET', route.path + query)
      assert.equal(status, 200, text)
      // Bob’s own texts are equal: only the ids differ.
      assertSilent(text, '')
    })

  test('the objects of the other account did not change', async () => {
    const { name, tag_ids, favorite } = await ada.good(
      'GET',
      `/api/v1/connections/${hers['connection']}`,
    )
    assert.deepEqual([name, tag_ids, favorite], [CANARY, [hers['tag']], false])
    const states = async (path: string) =>
      (await ada.good('GET', path)).items.map((one: Json) => [one.id, one.state, one.name])
    assert.deepEqual(await states('/api/v1/guest-codes'), [[hers['guest'], 'active', undefined]])
    assert.deepEqual(await states('/api/v1/open-links'), [[hers['link'], 'active', undefined]])
    assert.deepEqual(await states('/api/v1/open-links/requests'), [
      [hers['request'], 'pending', undefined],
    ])
    assert.deepEqual(await states('/api/v1/tags'), [[hers['tag'], undefined, CANARY]])
  })
})
