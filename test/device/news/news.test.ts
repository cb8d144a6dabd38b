/** When a sync asks only what changed, and when it reads everything. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { AppError } from '../../../src/errors.ts'
import { trustCards } from '../../../src/handlers/trust-cards.ts'
import { openServiceDatabase } from '../../service/database.ts'
import { both, instead, type Between } from '../../world/interceptor.ts'
import { at } from '../../world/requests.ts'
import { connected, worldOf, type DeviceUser } from '../../world/world.ts'
import { statementsOnSqlite } from './statements.ts'

/** Returns an interceptor that records the calls of a device, and the calls so far. */
function recording() {
  const calls: string[] = []
  const between: Between = (account) =>
    Object.fromEntries(
      Object.entries(account).map(([group, rows]) => [
        group,
        Object.fromEntries(
          Object.entries(rows as Record<string, (input: object) => unknown>).map(([row, call]) => [
            row,
            (input: object) => {
              calls.push(`${group}.${row}`)
              return call(input)
            },
          ]),
        ),
      ]),
    ) as unknown as Account
  return { between, take: () => calls.splice(0) }
}

const IDLE = ['changes.read']
const LISTS = [
  'invitations.list',
  'openLinkRequests.list',
  'notifications.list',
  'exports.list',
  'context.read',
  'listedDevices.list',
]
const WHOLE = [
  'changes.read',
  'keyLogs.read',
  'connections.list',
  'guestCodes.list',
  'duties.read',
  'trustCards.list',
  ...LISTS,
]

const timer = async (user: DeviceUser) => {
  const report = await user.device().sync.run('timer')
  assert.deepEqual([report.ok, report.error], [true, null])
}

/** Returns Ada and Bob, connected, and Ada's device with its calls recorded. */
async function pair(t: TestContext, between: Between = (account) => account) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const connection = await connected(ada, bob)
  const { between: noting, take } = recording()
  const own = ada.restart(both(between, noting))
  // After a sync that reads everything, the next one asks only what changed.
  await timer(own)
  take()
  return { world, ada: own, bob, connection, take }
}

describe('an idle sync', () => {
  it('is one call, one statement of the account server and no transaction', async (t) => {
    const statements = statementsOnSqlite(t, 'account.db')
    const { ada, take } = await pair(t)
    statements.length = 0
    await timer(ada)
    assert.deepEqual(take(), IDLE)
    assert.equal(statements.length, 1, statements.join('\n'))
  })

  it('measures the clock from the answer', async (t) => {
    const { ada, take } = await pair(
      t,
      instead('changes', 'read', (honest) => async (input) => {
        const answer = await honest(input)
        return { ...answer, now: new Date(Date.parse(answer.now) + 7000).toISOString() }
      }),
    )
    await timer(ada)
    assert.equal(ada.device().sync.offsetMs(), 7000)
    assert.deepEqual(take(), IDLE)
  })

  it('counts as a sync: words that match nothing are conclusive', async (t) => {
    const { world, ada } = await pair(t)
    world.later(50)
    await timer(ada)
    world.later(50)
    const { reasons } = await ada.hears('matador carload recede')
    assert.deepEqual(reasons, [])
  })
})

describe('a sync with news reads only the part that changed', () => {
  for (const [name, change, calls] of [
    [
      'a guest code',
      ({ ada }) =>
        ada.account().deviceGuestCodes.create({
          body: {
            id: 'gst_06f0v7xt40bqw5x8m0c4z5nv00',
            label: 'x',
            expires_at: '2031-01-01T00:00:00.000Z',
            external_member_id: null,
          },
        }),
      ['guestCodes.list'],
    ],
    [
      'a name of a connection',
      ({ ada, connection }) =>
        ada.account().connections.update({ id: connection, body: { name: 'Other' } }),
      ['connections.list', 'rosters.read'],
    ],
    [
      'a trust card',
      ({ ada, bob }) => ada.account().trustCards.create({ body: { user_id: bob.id } }),
      ['trustCards.list', 'keyLogs.read'],
    ],
  ] as const satisfies readonly (readonly [
    string,
    (of: Awaited<ReturnType<typeof pair>>) => Promise<unknown>,
    readonly string[],
  ])[])
    it(name, async (t) => {
      const of = await pair(t)
      await change(of)
      of.take()
      await timer(of.ada)
      assert.deepEqual(of.take(), [...IDLE, ...calls])
      await timer(of.ada)
      assert.deepEqual(of.take(), IDLE)
    })

  it('a new member of a connection is added, and its words verify', async (t) => {
    const { world, ada, bob, take } = await pair(t)
    const id = await bob.connect('Second')
    await bob.invite(id, { user_id: ada.id })
    await ada.approve()
    await bob.sync()
    take()
    await timer(ada)
    assert(take().includes('rosters.read'))
    world.later()
    assert((await ada.hears(bob.words(id))).verified)
  })
})

describe('lists that a device only shows', () => {
  it('are read if they changed', async (t) => {
    const { ada, bob, connection, take } = await pair(t)
    await bob.account().profile.read({})
    await ada.account().notifications.read({ body: {} })
    await bob.account().connections.update({ id: connection, body: { name: 'Other' } })
    const { lists } = await ada.account().changes.read({})
    assert(lists?.includes('notifications'))
    take()
    await timer(ada)
    assert.deepEqual(take(), [...IDLE, 'notifications.list'])
    await timer(ada)
    assert.deepEqual(take(), IDLE)
  })

  for (const [server, lists, calls] of [
    [
      'a newer account server names other lists',
      ['notifications', 'of_a_later_version'],
      ['notifications.list'],
    ],
    ['an older account server names no lists', undefined, LISTS],
  ] as const)
    it(`${server}: the sync succeeds`, async (t) => {
      const { ada, take } = await pair(
        t,
        instead('changes', 'read', (honest) => async (input) => {
          const { lists: _, ...answer } = await honest(input)
          return lists === undefined ? answer : { ...answer, lists: [...lists] }
        }),
      )
      await timer(ada)
      assert.deepEqual(take(), [...IDLE, ...calls])
    })
})

describe('everything is read', () => {
  const rows: readonly (readonly [
    string,
    (of: Awaited<ReturnType<typeof pair>>) => Promise<unknown>,
  ])[] = [
    ['after a change by the user', async ({ ada }) => ada.device().sync.changed('con_x')],
    ['after a sync that the user requested', ({ ada }) => ada.device().sync.run('request')],
    ['after a day', async ({ world }) => world.later(24 * 60)],
    ['if the clock of this machine was set back by a day', async ({ world }) => world.later(-1440)],
  ]
  for (const [name, change] of rows)
    it(name, async (t) => {
      const of = await pair(t)
      await change(of)
      of.take()
      await of.ada.device().sync.run('timer')
      assert.deepEqual(of.take(), WHOLE)
    })

  it('after a failed sync, even if the server lists no change', async (t) => {
    let fails = false
    const { ada, bob, take } = await pair(
      t,
      instead('trustCards', 'list', (honest) => (input) => {
        if (fails) throw new AppError('backend_unavailable', 'Away.')
        return honest(input)
      }),
    )
    await ada.account().trustCards.create({ body: { user_id: bob.id } })
    fails = true
    assert.equal((await ada.device().sync.run('timer')).ok, false)
    fails = false
    take()
    await timer(ada)
    const calls = new Set(take())
    assert.deepEqual(
      WHOLE.filter((call) => !calls.has(call)),
      [],
    )
  })

  it('by a sync that the user requests, whatever the server lists', async (t) => {
    const { ada, take } = await pair(t)
    await ada.sync()
    assert.deepEqual(take(), WHOLE.slice(1))
  })

  it('if the server is too old to list changes; it is asked again after a day', async (t) => {
    const { world, ada, take } = await pair(
      t,
      instead('changes', 'read', () => () => {
        throw new AppError('no_such_route', 'There is no such route.')
      }),
    )
    await timer(ada)
    assert.deepEqual(take(), WHOLE.slice(1))
    world.later(24 * 60)
    await timer(ada)
    assert.deepEqual(take(), WHOLE)
  })
})

it('an account server without the route for the list of devices is asked for it once', async (t) => {
  const { ada, take } = await pair(
    t,
    instead('listedDevices', 'list', () => () => {
      throw new AppError('no_such_route', 'There is no such route.')
    }),
  )
  await timer(ada)
  assert.deepEqual(take(), IDLE)
})

describe('a dishonest server that lists no change', () => {
  const SILENT = instead('changes', 'read', (honest) => async (input) => ({
    ...(await honest(input)),
    since: 'here',
    changed: [],
    lists: [],
  }))

  it('hides a change for at most a day, and not from a sync that the user requests', async (t) => {
    const { world, ada, connection } = await pair(t, SILENT)
    await ada.account().connections.update({ id: connection, body: { name: 'Other' } })
    await timer(ada)
    assert.equal(ada.state.connections.get(connection)?.name, 'Bank')
    world.later(24 * 60)
    await timer(ada)
    assert.equal(ada.state.connections.get(connection)?.name, 'Other')
    await ada.account().connections.update({ id: connection, body: { name: 'Third' } })
    await ada.sync()
    assert.equal(ada.state.connections.get(connection)?.name, 'Third')
  })

  it('does not keep a device from checking the keys of followed accounts every hour', async (t) => {
    const { world, ada, bob, take } = await pair(t, SILENT)
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    await ada.sync()
    await timer(ada)
    take()
    await timer(ada)
    assert.deepEqual(take(), IDLE)
    world.later(61)
    await timer(ada)
    assert.deepEqual(take(), [...IDLE, 'followedKeyLogs.list'])
  })

  it('does not keep a device from fetching a secret that it lacks', async (t) => {
    const { ada, connection, take } = await pair(t, SILENT)
    ada.device().vault.delete(connection)
    await timer(ada)
    assert(take().includes('envelopes.read'))
    assert(ada.device().vault.has(connection))
  })
})

describe('work that other members wait for', () => {
  it('is asked for at every sync until none is left', async (t) => {
    const { world, ada, take } = await pair(t)
    const cy = await world.person('cy')
    const id = await ada.connect('Third')
    await ada.invite(id, { user_id: cy.id })
    await cy.approve()
    take()
    await timer(ada)
    assert(take().includes('duties.read'))
    await timer(ada)
    assert(take().includes('duties.read'))
    await timer(ada)
    assert.deepEqual(take(), IDLE)
  })
})

describe('the marks of an account', () => {
  it('that a standby without the last transaction has are not those that the device read', async (t) => {
    const { world, ada, bob, take } = await pair(t)
    const db = await openServiceDatabase({ url: null, file: world.file })
    t.after(() => db.close())
    const before = await db.db
      .selectFrom('sync_marks')
      .selectAll()
      .where('account_id', '=', ada.id)
      .executeTakeFirstOrThrow()
    await ada.account().trustCards.create({ body: { user_id: bob.id } })
    await timer(ada)
    await timer(ada)
    // The transaction is lost, and another one is made in its place.
    await db.db.deleteFrom('trust_cards').execute()
    await db.db.updateTable('sync_marks').set(before).where('account_id', '=', ada.id).execute()
    take()
    await timer(ada)
    assert(take().includes('trustCards.list'))
    await ada.account().trustCards.create({ body: { user_id: bob.id } })
    take()
    await timer(ada)
    assert(take().includes('trustCards.list'))
  })
})
