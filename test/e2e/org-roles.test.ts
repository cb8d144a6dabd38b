/**
 * Roles in an organisation: every role on every route of organisations, over HTTP; and two
 * organisations that are isolated from each other. The routes come from the table, so that a new
 * one is tried at once.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { rest } from '../../src/api/rest/index.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { type Answer, type TestDaemon, startDaemon } from '../daemon.ts'
import { activeOrganisation, newMachine, signIn } from '../handlers/people.ts'
import type { Json } from './caller.ts'

const WHO = ['owner', 'admin', 'member', 'machine', 'suspended', 'invited', 'outsider'] as const
type Who = (typeof WHO)[number]

/** The expected result: success, or the code of an error. */
type Outcome = 'ok' | 'forbidden' | 'no_active_organisation'
const OUTCOMES: Readonly<Record<Who, { readonly read: Outcome; readonly write: Outcome }>> = {
  owner: { read: 'ok', write: 'ok' },
  admin: { read: 'ok', write: 'ok' },
  member: { read: 'ok', write: 'forbidden' },
  machine: { read: 'ok', write: 'forbidden' },
  suspended: { read: 'no_active_organisation', write: 'no_active_organisation' },
  invited: { read: 'no_active_organisation', write: 'no_active_organisation' },
  outsider: { read: 'no_active_organisation', write: 'no_active_organisation' },
}
const STATUS: Readonly<Record<Exclude<Outcome, 'ok'>, number>> = {
  forbidden: 403,
  no_active_organisation: 409,
}

/** A caller of one account server, with a token of full scope. */
interface Person {
  readonly id: string
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Answer>
  /** Sends a request that must succeed. */
  readonly good: (method: string, path: string, body?: unknown) => Promise<Json>
}

/** The ids of an organisation’s resources, by group. */
type Things = Readonly<Record<string, string>>

/** The request of a route: the kind of resource in its path, and a new body at each call. */
interface Asked {
  readonly of?: string
  readonly query?: string
  readonly body?: (things: Things) => unknown
}
let number = 0
const fresh = (what: string) => `${what}-${(number += 1)}`
const MEMBERS = (things: Things) => ({ member_ids: [things['active']] })
const ROWS: Readonly<Record<string, Asked>> = {
  'orgMembers.list': {},
  'orgMembers.read': { of: 'active' },
  'orgMembers.activate': { of: 'active' },
  'orgMembers.suspend': { of: 'suspended' },
  'orgMembers.bulkInvite': {
    body: () => ({ invites: [{ email: `${fresh('new')}@example.org` }] }),
  },
  'orgGroups.list': {},
  'orgGroups.create': { body: () => ({ name: fresh('group') }) },
  'orgGroups.update': { of: 'group', body: () => ({ description: fresh('about') }) },
  'orgGroups.delete': { of: 'spareGroup' },
  'orgGroups.addMembers': { of: 'group', body: MEMBERS },
  'orgGroups.removeMembers': { of: 'group', body: MEMBERS },
  'orgAlerts.list': {},
  'orgAlerts.create': {
    body: () => ({ name: 'stamps', event: 'stamp', threshold: 1000, window_minutes: 1 }),
  },
  'orgAlerts.update': { of: 'alert', body: () => ({ name: fresh('alert') }) },
  'orgAlerts.delete': { of: 'spareAlert' },
  'orgActivity.list': {},
  'orgActivity.summary': {},
  'orgAnalytics.dashboard': {},
  'orgAnalytics.trends': { query: '?metric=activity' },
}

const rows = rowsOf(rest)
  .filter(({ route }) => route.path.startsWith('/api/v1/org/'))
  .map(({ group, name, route }) => ({ row: `${group}.${name}`, route }))

it('the test covers every route of organisations', () => {
  assert.deepEqual(rows.map(({ row }) => row).toSorted(), Object.keys(ROWS).toSorted())
})

const daemons: TestDaemon[] = []
const people: Partial<Record<Who, Person>> = {}
const personOf = (who: Who) => people[who] ?? assert.fail(who)
/** The owner of another organisation. */
let rival: Person
let organisation: string
let acme: Things
let theirs: Things
let machineToken: () => Promise<string>

const started = async (env: Record<string, string> = {}) => {
  const daemon = await startDaemon(env)
  daemons.push(daemon)
  return daemon
}

async function person(daemon: TestDaemon, token: string): Promise<Person> {
  const ask: Person['ask'] = (method, path, body) => daemon.request(method, path, { token, body })
  const good: Person['good'] = async (method, path, body) => {
    const { status, text, json } = await ask(method, path, body)
    assert(status < 300, `${method} ${path}: ${status} ${text}`)
    return json as Json
  }
  return { id: (await good('GET', '/api/v1/context')).user.id, ask, good }
}

/** Creates a resource for each kind of path, in the caller’s active organisation. */
async function thingsOf({ good }: Person, active: string): Promise<Record<string, string>> {
  const { invited } = await good('POST', '/api/v1/org/members/bulk-invite', {
    invites: [{ email: `${fresh('mailbox')}@example.org` }],
  })
  const group = await good('POST', '/api/v1/org/groups', { name: fresh('group') })
  const alert = await good('POST', '/api/v1/org/alerts', {
    name: 'stamps',
    event: 'stamp',
    threshold: 1000,
    window_minutes: 1,
    notify: [active],
  })
  return { active, mailbox: invited[0].id, group: group.id, alert: alert.id }
}

before(async () => {
  const home = await started()
  const owner = await person(home, await home.token('full'))
  organisation = await activeOrganisation(home, 'Acme')
  const personWithKeys = async (name: string) => {
    const daemon = await started({ SVC_BACKEND_URL: home.accountAddress })
    await signIn(daemon, home, `${name}@example.org`)
    return { daemon, one: await person(daemon, await daemon.token('full')) }
  }
  const invite = (name: string, role: string) =>
    owner.good('POST', '/api/v1/org/members/bulk-invite', {
      invites: [{ email: `${name}@example.org`, role }],
    })
  people.owner = owner
  for (const [who, role] of [
    ['admin', 'admin'],
    ['member', 'member'],
    ['suspended', 'member'],
  ] as const) {
    await invite(who, role)
    const { one } = await personWithKeys(who)
    await one.good('POST', '/api/v1/context/active-org', { organisation_id: organisation })
    people[who] = one
  }
  const suspended = personOf('suspended').id
  await owner.good('POST', `/api/v1/org/members/${suspended}/suspend`)
  people.outsider = (await personWithKeys('outsider')).one
  people.invited = (await personWithKeys('invited')).one
  await invite('invited', 'admin')
  const machine = await newMachine(home, organisation)
  machineToken = () => machine.token('full')
  people.machine = await person(home, await machineToken())

  const other = await personWithKeys('rival')
  rival = other.one
  await activeOrganisation(other.daemon, 'Rival')
  acme = { ...(await thingsOf(owner, personOf('member').id)), suspended }
  theirs = { ...(await thingsOf(rival, rival.id)), suspended: rival.id }
})
after(async () => {
  for (const daemon of daemons.toReversed()) await daemon.close()
})

const pathOf = (path: string, id: string | undefined) => path.replace('{id}', id ?? '')

/** Creates another resource for a route that deletes one, as the owner. */
async function spare(of: string | undefined): Promise<string | undefined> {
  const { good } = personOf('owner')
  if (of === 'spareGroup')
    return (await good('POST', '/api/v1/org/groups', { name: fresh('group') })).id
  if (of === 'spareAlert')
    return (
      await good('POST', '/api/v1/org/alerts', {
        name: 'stamps',
        event: 'stamp',
        threshold: 1000,
        window_minutes: 1,
      })
    ).id
  return of === undefined ? undefined : acme[of]
}

/** All data that a write could have changed. */
const LISTS = ['members', 'groups', 'alerts'] as const
const contents = async () =>
  Promise.all(LISTS.map((list) => personOf('owner').good('GET', `/api/v1/org/${list}?limit=200`)))

describe('the roles of an organisation', () => {
  for (const { row, route } of rows)
    for (const who of WHO) {
      const expected = OUTCOMES[who][route.method === 'GET' ? 'read' : 'write']
      it(`${who}, ${route.method} ${route.path}: ${expected}`, async () => {
        const { of, query = '', body } = ROWS[row] as Asked
        const path = pathOf(route.path, await spare(of)) + query
        const before = await contents()
        const answer = await personOf(who).ask(route.method, path, body?.(acme))
        if (expected === 'ok') {
          assert.equal(answer.status, route.status ?? 200, answer.text)
          return
        }
        assert.equal(answer.status, STATUS[expected], answer.text)
        assert.equal((answer.json as Json).error, expected)
        assert.deepEqual(await contents(), before, 'nothing changed')
      })
    }

  const choosing: [who: Who, may: boolean][] = [
    ['owner', true],
    ['admin', true],
    ['member', true],
    ['suspended', false],
    ['invited', false],
    ['outsider', false],
  ]
  for (const [who, may] of choosing)
    it(`${who} ${may ? 'can' : 'cannot'} act in it`, async () => {
      const body = { organisation_id: organisation }
      const { status, text } = await personOf(who).ask('POST', '/api/v1/context/active-org', body)
      assert.equal(status, may ? 200 : 404, text)
      const { organisations } = await personOf(who).good('GET', '/api/v1/context')
      assert.equal(organisations.length, may ? 1 : 0)
    })

  it('an admin cannot change or make an owner', async () => {
    const { ask, good } = personOf('admin')
    for (const act of ['activate', 'suspend']) {
      const path = `/api/v1/org/members/${personOf('owner').id}/${act}`
      assert.equal(((await ask('POST', path)).json as Json).error, 'forbidden')
    }
    const { invited, skipped } = await good('POST', '/api/v1/org/members/bulk-invite', {
      invites: [{ email: 'boss@example.org', role: 'owner' }],
    })
    assert.deepEqual([invited, skipped[0].reason], [[], 'role_not_allowed'])
  })

  it('the last owner cannot be suspended', async () => {
    const { ask, id } = personOf('owner')
    const { status, json } = await ask('POST', `/api/v1/org/members/${id}/suspend`)
    assert.deepEqual([status, (json as Json).state], [409, 'last_owner'])
  })
})

describe('two organisations', () => {
  /** The ids of each organisation, tried by the owner of the other. */
  const sides: [name: string, of: () => { by: Person; ids: Things; own: Things }][] = [
    ['its owner', () => ({ by: personOf('owner'), ids: theirs, own: acme })],
    ['the owner of the other', () => ({ by: rival, ids: acme, own: theirs })],
  ]
  for (const [name, of] of sides) {
    for (const { row, route } of rows.filter((it) => it.route.path.includes('{id}')))
      it(`${name}, ${route.method} ${route.path}: no id of the other organisation is found`, async () => {
        const { by, ids, own } = of()
        const before = await contents()
        for (const [kind, id] of Object.entries(ids)) {
          const path = pathOf(route.path, id)
          const { status, text } = await by.ask(route.method, path, ROWS[row]?.body?.(own))
          assert.equal(status, 404, `${kind}: ${text}`)
        }
        assert.deepEqual(await contents(), before, 'nothing changed')
      })

    it(`${name} cannot put a member of the other organisation into a group or an alert`, async () => {
      const { by, ids, own } = of()
      const tries: [method: string, path: string, body: unknown][] = [
        ['POST', `/api/v1/org/groups/${own['group']}/members`, { member_ids: [ids['active']] }],
        ['PATCH', `/api/v1/org/alerts/${own['alert']}`, { notify: [ids['active']] }],
      ]
      for (const [method, path, body] of tries) {
        const { status, text } = await by.ask(method, path, body)
        assert.equal(status, 422, text)
      }
    })

    it(`${name} sees nothing of the other organisation in any list or figure, with any cursor`, async () => {
      const { by, ids } = of()
      const other = by === rival ? personOf('owner') : rival
      for (const { row, route } of rows.filter((it) => it.route.method === 'GET')) {
        if (route.path.includes('{id}')) continue
        const isList = row.endsWith('.list')
        const page: Json = isList ? await other.good('GET', `${route.path}?limit=1`) : {}
        const cursor = page.next_cursor as string | null | undefined
        const queries = [ROWS[row]?.query ?? '']
        if (typeof cursor === 'string') queries.push(`?cursor=${encodeURIComponent(cursor)}`)
        for (const query of queries) {
          const { status, text } = await by.ask('GET', route.path + query)
          assert.equal(status, 200, text)
          for (const [kind, id] of Object.entries(ids))
            assert(!text.includes(id), `${kind} in ${route.path}${query}`)
        }
      }
    })
  }
})

describe('a suspended machine account', () => {
  it('cannot use any token, new ones included, until it is activated', async () => {
    const { good, id } = personOf('machine')
    const { ask: asOwner } = personOf('owner')
    const set = async (act: string) =>
      assert.equal((await asOwner('POST', `/api/v1/org/members/${id}/${act}`)).status, 200)
    await set('suspend')
    for (const path of ['/api/v1/context', '/api/v1/org/members', '/api/v1/notifications']) {
      const { status, json } = await personOf('machine').ask('GET', path)
      assert.deepEqual([status, (json as Json).error], [401, 'invalid_token'], path)
    }
    await assert.rejects(machineToken())
    await set('activate')
    await good('GET', '/api/v1/org/members')
    await machineToken()
  })
})
