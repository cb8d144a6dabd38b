/**
 * Tests which events the changes on a device cause: each real action, the events with their exact
 * data. The last test fails for a type of the catalogue that no test caused.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, test } from 'node:test'
import * as v from 'valibot'
import { EVENTS, EVENT_TYPES, type EventType } from '../../src/api/live/catalogue.ts'
import type { SYNC_LISTS } from '../../src/api/device/changes.ts'
import { readList } from '../../src/device/sync/lists.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import type { Account } from '../../src/api/port.ts'
import { rotateNow } from '../../src/device/connections/members.ts'
import { connections, leaveConnection, members } from '../../src/handlers/connections.ts'
import { guestCodes } from '../../src/handlers/guest-codes.ts'
import { stamp } from '../../src/handlers/stamp.ts'
import { sync as syncRoutes } from '../../src/handlers/status.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { verify } from '../../src/handlers/verify.ts'
import type { State } from '../../src/state/state.ts'
import type { Act } from '../../src/storage/idempotency.ts'
import { rejects } from '../rejects.ts'
import { away, instead, refusing, type Between } from '../world/interceptor.ts'
import { at, confirmAt } from '../world/requests.ts'
import { type DeviceUser, connected, joinMembers, newWorld, worldOf } from '../world/world.ts'
import { invited, typed } from './contacting.ts'
import { enrolled } from './enrolled.ts'

type Reported = [type: EventType, data: unknown]

const caused = new Set<EventType>()

/** The events of lists that the account server supplies, which a sync reports beside the others. */
const OF_LISTS = /^(?:invitation|open_link_request|notification|export|org)\./

/** Returns the events after a place; each must be as the catalogue describes it. */
const allAfter = ({ events }: State, seq: number): Reported[] =>
  events.after(seq, 1000).map(({ type, data }) => {
    caused.add(type)
    // `parse` leaves out what the catalogue does not name.
    assert.deepEqual(v.parse(EVENTS[type].data, data), data, type)
    return [type, data]
  })

const eventsAfter = (state: State, seq: number): Reported[] =>
  allAfter(state, seq).filter(([type]) => !OF_LISTS.test(type))

/** Runs an action and returns the events that it caused at a device, except those of lists. */
async function during(user: { readonly state: State }, action: () => unknown): Promise<Reported[]> {
  const seq = user.state.events.last()
  await action()
  return eventsAfter(user.state, seq)
}

const typesOf = (events: readonly Reported[]) => events.map(([type]) => type)
const nothing = { connections: 0, secrets: 0, guest_codes: 0, rosters: 0 }
const synced = (
  pulled: Partial<typeof nothing> = {},
  pushed: { verifications?: number; envelopes?: number } = {},
): Reported => [
  'sync.done',
  {
    trigger: 'request',
    pulled: { ...nothing, ...pulled },
    pushed: { verifications: 0, envelopes: 0, ...pushed },
  },
]
const bank = (connection_id: string) => ({ connection_id, name: 'Bank' })

describe('connections', () => {
  it('a connection that is created here is added and ready, and then renamed', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    let id = ''
    const made = await during(ada, async () => (id = await ada.connect()))
    assert.deepEqual(made, [
      ['connection.added', bank(id)],
      ['connection.ready', bank(id)],
    ])
    const rename = () => connections.update({ id, body: { name: 'Post' } }, at(ada))
    const renamed = { connection_id: id, name: 'Post', previous_name: 'Bank' }
    assert.deepEqual(await during(ada, rename), [['connection.renamed', renamed]])
    assert.deepEqual(await during(ada, rename), [], 'the same name again')
  })

  it('an account that is taken in joined there, and has the connection added here', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await ada.connect()
    await ada.invite(id, { user_id: bob.id })
    await bob.approve()
    const member = { connection_id: id, connection_name: 'Bank', user_id: bob.id }
    assert.deepEqual(await during(ada, () => ada.sync()), [
      ['member.joined', { ...member, display_name: 'bob' }],
      synced({ connections: 1 }, { envelopes: 1 }),
    ])
    // Without a name of the own, it has the name of the other member.
    const named = { connection_id: id, name: 'ada' }
    assert.deepEqual(await during(bob, () => bob.sync()), [
      ['connection.added', named],
      ['connection.ready', named],
      synced({ connections: 1, secrets: 1, rosters: 1 }),
    ])
  })

  it('a connection whose secret comes later is ready later', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await ada.connect()
    await ada.invite(id, { user_id: bob.id })
    await bob.approve()
    await ada.sync()
    const none: Between = instead('envelopes', 'read', () => async () => ({ envelopes: [] }))
    const without = bob.restart(none)
    assert.deepEqual(typesOf(await during(bob, () => without.sync())), [
      'connection.added',
      'sync.done',
    ])
    const back = without.restart((account) => account)
    assert.deepEqual(typesOf(await during(bob, () => back.sync())), [
      'connection.ready',
      'sync.done',
    ])
  })

  it('a removed member left there, and has the connection removed here', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    await trustCards.update({ id: bob.id, body: { name: 'Robert' } }, at(ada))
    const removal = () => members.remove({ id, mid: bob.id }, at(ada))
    const member = { connection_id: id, connection_name: 'Bank', user_id: bob.id }
    assert.deepEqual(await during(ada, removal), [
      ['connection.rekeyed', { ...bank(id), epoch: 2 }],
      ['member.left', { ...member, display_name: 'Robert' }],
      ['connection.ready', bank(id)],
    ])
    const gone = { connection_id: id, name: 'ada' }
    assert.deepEqual(await during(bob, () => bob.sync()), [['connection.removed', gone], synced()])
  })

  it('after a member has left, a connection is suspended until it has a new secret', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const left = () => leaveConnection(id, bob.account(), bob.device())
    const gone = { connection_id: id, name: 'ada' }
    const own = { connection_id: id, connection_name: 'ada', user_id: bob.id, display_name: 'bob' }
    assert.deepEqual(await during(bob, left), [
      ['member.left', own],
      ['connection.suspended', { ...gone, reason: 'rotation_pending' }],
      ['connection.removed', gone],
    ])
    const member = { connection_id: id, connection_name: 'Bank', user_id: bob.id }
    assert.deepEqual(await during(ada, () => ada.sync()), [
      ['member.left', { ...member, display_name: 'bob' }],
      ['connection.suspended', { ...bank(id), reason: 'rotation_pending' }],
      ['connection.rekeyed', { ...bank(id), epoch: 2 }],
      ['connection.resumed', bank(id)],
      ['connection.ready', bank(id)],
      synced({ connections: 1, rosters: 1 }, { envelopes: 1 }),
    ])
  })

  it('a rotation by another member: another secret, with which the words are usable', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const rotation = () => rotateNow(ada.device(), ada.account(), id)
    assert.deepEqual(await during(ada, rotation), [
      ['connection.rekeyed', { ...bank(id), epoch: 2 }],
      ['connection.ready', bank(id)],
    ])
    const there = { connection_id: id, name: 'ada' }
    assert.deepEqual(await during(bob, () => bob.sync()), [
      ['connection.rekeyed', { ...there, epoch: 2 }],
      ['connection.ready', there],
      synced({ connections: 1, secrets: 1, rosters: 1 }),
    ])
  })
})

describe('devices and sessions', () => {
  it('a second device is added, approved and revoked', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const id = await ada.connect()
    const started = ada.state.events.after(0, 1).map(({ type, data }) => [type, data])
    const session = { account_id: ada.id, device_id: ada.deviceId }
    assert.deepEqual(started, [['session.started', { ...session, approved: true }]])
    let phone = ada
    const added = await during(ada, async () => (phone = await world.further(ada, 'phone')))
    const device = { device_id: phone.deviceId }
    assert.deepEqual(added, [['device.added', device]])
    const own = { account_id: ada.id, ...device }
    assert.deepEqual(eventsAfter(phone.state, 0), [
      ['session.started', { ...own, approved: false }],
      ['session.approved', own],
    ])
    await ada.sync()
    await phone.sync()
    assert.deepEqual(await during(ada, () => ada.revoke(phone.deviceId)), [
      ['device.revoked', device],
      ['connection.suspended', { ...bank(id), reason: 'rotation_pending' }],
      ['connection.rekeyed', { ...bank(id), epoch: 2 }],
      ['connection.resumed', bank(id)],
      ['connection.ready', bank(id)],
      synced({ connections: 1 }, { envelopes: 1 }),
    ])
    const revoked = await during(phone, () => phone.device().sync.run('request'))
    assert.deepEqual(typesOf(revoked), ['device.revoked', 'connection.suspended', 'sync.failed'])
  })

  it('a device enrols at the embedded account server', async (t) => {
    const device = await enrolled(t)
    const { account: account_id, device: device_id } = device.identity
    assert.deepEqual(eventsAfter(device.state, 0), [
      ['session.started', { account_id, device_id, approved: true }],
    ])
  })

  for (const [reason, end] of [
    ['signed_out', ({ flow }: DeviceUser) => flow.end({ last_device: true, forget: false })],
    ['deleted', ({ flow }: DeviceUser) => flow.deleteAccount()],
  ] as const)
    it(`after an account was ${reason}, only that is left of its events`, async (t) => {
      const { world, ada } = await worldOf(t, 'ada')
      await ada.connect()
      const last = ada.state.events.last()
      await end(ada)
      const left = eventsAfter(ada.state, 0)
      assert.deepEqual(left, [['session.ended', { reason }]])
      assert.equal(ada.state.events.oldest()?.seq, ada.state.events.last())
      assert(ada.state.events.last() > last, 'no sequence number is used again')
      await world.again(ada, { name: 'eve' })
      assert.deepEqual(typesOf(eventsAfter(ada.state, 0)), ['session.ended', 'session.started'])
    })

  it('a sign-out that a crash interrupted is reported once, at the next start', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    ada.state.meta.set('leaving', 'signed_out')
    ada.restart()
    assert.deepEqual(eventsAfter(ada.state, 0), [['session.ended', { reason: 'signed_out' }]])
    ada.restart()
    assert.equal(eventsAfter(ada.state, 0).length, 1)
  })
})

describe('guest codes', () => {
  it('created, revoked, expired, deleted', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const create = async (label: string, expires_in: number) => {
      let id = ''
      const body = { label, expires_in }
      const made = await during(
        ada,
        async () => ({ id } = await guestCodes.create({ body }, at(ada))),
      )
      assert.deepEqual(made, [['guest_code.created', { guest_code_id: id, label }]])
      return { guest_code_id: id, label }
    }
    const [first, second] = [await create('Plumber', 86_400), await create('Painter', 3_600)]
    const revoke = () => guestCodes.delete({ id: first.guest_code_id }, at(ada))
    assert.deepEqual(await during(ada, revoke), [['guest_code.revoked', first]])
    await ada.sync()
    world.later(61)
    assert.deepEqual(await during(ada, () => ada.sync()), [
      ['guest_code.expired', second],
      synced({ guest_codes: 1 }),
    ])
    // The account server deletes old codes.
    const none: Between = instead('guestCodes', 'list', () => async () => ({
      items: [],
      next_cursor: null,
    }))
    const deleted = await during(ada, () => ada.restart(none).sync())
    assert.deepEqual(
      new Set(deleted.map(([, data]) => (data as { label?: string }).label)),
      new Set(['Plumber', 'Painter', undefined]),
    )
    assert.deepEqual(typesOf(deleted), ['guest_code.deleted', 'guest_code.deleted', 'sync.done'])
  })

  it('a second device has only the active codes reported', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const create = (label: string) =>
      guestCodes.create({ body: { label, expires_in: 3_600 } }, at(ada))
    const [gone, kept] = [await create('Plumber'), await create('Painter')]
    await guestCodes.delete({ id: gone.id }, at(ada))
    const phone = await world.further(ada, 'phone')
    assert.deepEqual(await during(phone, () => phone.sync()), [
      ['guest_code.created', { guest_code_id: kept.id, label: 'Painter' }],
      synced({ guest_codes: 2 }),
    ])
  })
})

describe('keys of followed accounts', () => {
  it('followed, confirmed, changed, unfollowed', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const card = { user_id: bob.id, display_name: 'bob' }
    const follow = () => trustCards.create({ body: { user_id: bob.id } }, at(ada))
    assert.deepEqual(await during(ada, follow), [['trust.followed', card]])
    assert.deepEqual(await during(ada, () => confirmAt(ada, bob.id)), [['trust.confirmed', card]])
    assert.deepEqual(await during(ada, () => confirmAt(ada, bob.id)), [], 'confirmed already')
    await world.reset('bob')
    world.later(61)
    assert.deepEqual(await during(ada, () => ada.sync()), [
      ['trust.keys_changed', { ...card, key_status: 'changed_unverified' }],
      synced(),
    ])
    assert.deepEqual(await during(ada, () => confirmAt(ada, bob.id)), [['trust.confirmed', card]])
    const unfollow = () => trustCards.delete({ id: bob.id }, at(ada))
    assert.deepEqual(await during(ada, unfollow), [['trust.unfollowed', card]])
  })
})

describe('first contacts', () => {
  it('the end, with the result, before which the keys are confirmed', async (t) => {
    const { ada, bob, connection, invitation, words } = await invited(t)
    const ended = {
      invitation_id: invitation.id,
      connection_id: connection,
      state: 'confirmed',
    }
    const events = await during(ada, () => typed(bob, invitation.id, words, ada))
    assert.deepEqual(
      events.filter(([type]) => /^(first_contact|trust\.confirmed)/.test(type)),
      [
        ['trust.confirmed', { user_id: bob.id, display_name: 'bob' }],
        ['first_contact.ended', ended],
      ],
    )
  })
})

describe('checks of words', () => {
  it('the outcome and the matches, without the words', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const words = bob.words(id)
    const check = async () => {
      const events = await during(ada, () => ada.hears(words))
      assert.equal(events.length, 1)
      const [type, data] = events[0] as Reported
      const { verification_id: made, ...rest } = data as { verification_id: string }
      assert.equal(made, ada.state.verifications.page(1, null)[0]?.id)
      return [type, rest]
    }
    const match = {
      kind: 'connection',
      speaker: 'other',
      connection_id: id,
      connection_name: 'Bank',
      member_id: bob.id,
      display_name: 'bob',
    }
    const made = { method: 'local', caller: null, matches: [match] }
    assert.deepEqual(await check(), ['verification.made', { ...made, outcome: 'verified' }])
    assert.deepEqual(await check(), ['verification.made', { ...made, outcome: 'not_verified' }])
  })

  it('a public look-up', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const body = { words: 'matador carload recede' }
    const events = await during(ada, () => verify.public({ body }, at(ada)))
    const [[, data] = []] = events
    const { verification_id, ...rest } = data as { verification_id: string }
    assert.match(verification_id, /^ver_/)
    const made = { outcome: 'inconclusive', method: 'public', caller: 'tok_1', matches: [] }
    assert.deepEqual([typesOf(events), rest], [['verification.made'], made])
  })
})

describe('stamps', () => {
  const made = (user: DeviceUser, act: Act) =>
    stamp.create({ body: { content: 'Invoice 4711' } }, Object.assign(at(user), { made: act }))

  it('a stamp that the account server registered', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const act = { id: randomBytes(16), at: world.now() }
    let id = ''
    const events = await during(ada, async () => ({ id } = await made(ada, act)))
    assert.deepEqual(events, [['stamp.created', { stamp_id: id, registered: true }]])
    assert.deepEqual(await during(ada, () => made(ada, act)), [], 'the same operation again')
  })

  it('a stamp that is registered later has one event', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const act = { id: randomBytes(16), at: world.now() }
    const cut = ada.restart(instead('stamps', 'create', () => away))
    let id = ''
    const events = await during(ada, async () => ({ id } = await made(cut, act)))
    assert.deepEqual(events, [['stamp.created', { stamp_id: id, registered: false }]])
    const back = cut.restart((account) => account)
    assert.deepEqual(await during(ada, () => back.sync()), [synced()])
    assert.notEqual(ada.state.stamps.get(id)?.receipt, null)
  })

  it('a stamp that a crash left unfinished has its event when a sync registers it', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const act = { id: randomBytes(16), at: world.now() }
    const hanging = ada.restart(
      instead('stamps', 'create', () => () => new Promise(() => undefined)),
    )
    const unfinished = made(hanging, act)
    unfinished.catch(() => undefined)
    while (ada.state.stamps.withoutReceipt(1).length === 0)
      await new Promise((resolve) => setImmediate(resolve))
    const id = ada.state.stamps.withoutReceipt(1)[0]?.id
    const back = hanging.restart((account) => account)
    assert.deepEqual(await during(ada, () => back.sync()), [
      ['stamp.created', { stamp_id: id, registered: true }],
      synced(),
    ])
  })

  it('a stamp that is deleted again has no event', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const act = () => ({ id: randomBytes(16), at: world.now() })
    const refused = ada.restart(
      instead('stamps', 'create', () => refusing('validation_failed', 'Refused.')),
    )
    const failed = () => rejects('validation_failed', made(refused, act()))
    assert.deepEqual(await during(ada, failed), [])
    let calls = 0
    const taken = ada.restart(
      instead('stamps', 'create', (honest) => (input) => {
        calls += 1
        return calls === 1 ? refusing('conflict', 'Taken.')() : honest(input)
      }),
    )
    let id = ''
    const events = await during(ada, async () => ({ id } = await made(taken, act())))
    assert.deepEqual(events, [['stamp.created', { stamp_id: id, registered: true }]])
  })
})

describe('syncs', () => {
  it('a sync without a change is reported only if it was requested', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const run = (user: DeviceUser, trigger: 'timer' | 'hint' | 'request') => () =>
      user.device().sync.run(trigger)
    await ada.sync()
    assert.deepEqual(await during(ada, run(ada, 'request')), [synced()])
    for (const trigger of ['timer', 'hint'] as const)
      assert.deepEqual(await during(ada, run(ada, trigger)), [])
    const cut = ada.restart(instead('keyLogs', 'read', () => away))
    const failed = (trigger: string): Reported[] => [
      ['sync.failed', { trigger, code: 'backend_unavailable' }],
    ]
    assert.deepEqual(await during(ada, run(cut, 'timer')), failed('timer'))
    assert.deepEqual(await during(ada, run(cut, 'hint')), [], 'it fails as before')
    assert.deepEqual(await during(ada, run(cut, 'request')), failed('request'))
    const back = cut.restart((account) => account)
    const [[type, data] = []] = await during(ada, run(back, 'hint'))
    assert.deepEqual([type, (data as { trigger: string }).trigger], ['sync.done', 'hint'])
  })

  it('a sync that the route runs', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    assert.deepEqual(typesOf(await during(ada, () => syncRoutes.run({}, at(ada)))), ['sync.done'])
  })
})

describe('lists', () => {
  const [inv, con, req, lnk] = ['inv_', 'con_', 'req_', 'lnk_'].map((prefix) => newId(prefix, 1))
  const [ntf, exp, org] = ['ntf_', 'exp_', 'org_'].map((prefix) => newId(prefix, 1))
  const listedAs = (direction: string, state: string) => ({
    [direction]: [{ id: inv, direction, connection_id: con, state }],
  })
  const none = { received: [], sent: [] }
  const page = (items: object[]) => ({ items, next_cursor: null })
  const request = (state: string) => page([{ id: req, open_link_id: lnk, state }])
  const notification = (read: boolean) => page([{ id: ntf, kind: 'member_joined', read }])
  const built = (state: string) => page([{ id: exp, state }])
  const member = (name: string, role: string) => ({ organisations: [{ id: org, name, role }] })
  const asked = { request_id: req, open_link_id: lnk }
  const invitation = (direction: string) => ({ invitation_id: inv, connection_id: con, direction })
  const about = { notification_id: ntf, kind: 'member_joined' }
  const named = (name: string) => ({ organisation_id: org, name })
  const laptop = { device_id: newId('dev_', 1), name: 'laptop' }
  const made = { platform: 'linux', created_at: '2026-01-01T00:00:00Z' }
  const own = { id: newId('dev_', 2), name: 'desk', state: 'active', ...made }
  const device = (state: string) => ({ id: laptop.device_id, name: 'laptop', state, ...made })

  /** Each list: what the account server answers first and then, and the events of each step. */
  const cases: [
    list: (typeof SYNC_LISTS)[number],
    group: keyof Account,
    row: string,
    first: object,
    steps: [answer: object, ...events: [type: string, data: object][]][],
  ][] = [
    ...['approved', 'declined', 'withdrawn', 'expired'].map((end): (typeof cases)[number] => [
      'invitations',
      'invitations',
      'list',
      none,
      [
        [
          { ...none, ...listedAs('received', 'pending') },
          ['invitation.received', invitation('received')],
        ],
        [{ ...none, ...listedAs('received', 'pending') }],
        [{ ...none, ...listedAs('received', end) }, [`invitation.${end}`, invitation('received')]],
        [none],
      ],
    ]),
    [
      'invitations',
      'invitations',
      'list',
      none,
      [
        [
          { ...none, ...listedAs('sent', 'declined') },
          ['invitation.sent', invitation('sent')],
          ['invitation.declined', invitation('sent')],
        ],
      ],
    ],
    ...['approved', 'declined'].map((end): (typeof cases)[number] => [
      'open_link_requests',
      'openLinkRequests',
      'list',
      page([]),
      [
        [request('pending'), ['open_link_request.received', asked]],
        [request(end), [`open_link_request.${end}`, asked]],
      ],
    ]),
    [
      'notifications',
      'notifications',
      'list',
      page([]),
      [
        [notification(false), ['notification.created', about]],
        [notification(true), ['notification.read', about]],
        [page([])],
      ],
    ],
    ...['ready', 'failed', 'expired'].map((end): (typeof cases)[number] => [
      'exports',
      'exports',
      'list',
      page([]),
      [
        [built('queued'), ['export.requested', { export_id: exp }]],
        [built('building')],
        [built(end), [`export.${end}`, { export_id: exp }]],
      ],
    ]),
    [
      'organisations',
      'context',
      'read',
      { organisations: [] },
      [
        [member('Acme', 'member'), ['org.joined', named('Acme')]],
        [
          member('Acme Ltd', 'admin'),
          ['org.renamed', named('Acme Ltd')],
          ['org.role_changed', { ...named('Acme Ltd'), role: 'admin' }],
        ],
        [{ organisations: [] }, ['org.left', named('Acme Ltd')]],
      ],
    ],
    ...['approved', 'declined'].map((end): (typeof cases)[number] => [
      'devices',
      'listedDevices',
      'list',
      page([own]),
      [
        [page([device('pending'), own]), ['device.waiting', laptop]],
        [page([device('pending'), own])],
        ...(end === 'approved'
          ? [[page([device('active'), own])] as [object]]
          : [[page([own]), ['device.declined', laptop]] as [object, [string, object]]]),
        // The key log reports it.
        [page([own])],
      ],
    ]),
  ]
  for (const [n, [list, group, row, first, steps]] of cases.entries())
    it(`${list}, ${n}: ${steps.flatMap(([, ...events]) => events.map(([type]) => type)).join(', ')}`, async (t) => {
      const world = await newWorld(t)
      const { state } = await world.person('ada')
      const read = (answer: object) => {
        const account = { [group]: { [row]: async () => answer } } as unknown as Account
        return readList({ state, requireSession: () => undefined }, account, list)
      }
      const start = state.events.last()
      await read(steps[0]![0])
      assert.equal(state.events.last(), start, 'what was there before the first look is not new')
      await read(first)
      for (const [answer, ...events] of steps) {
        const before = state.events.last()
        await read(answer)
        assert.deepEqual(allAfter(state, before), events)
      }
    })
})

test('tokens are created and revoked', async (t) => {
  const world = await newWorld(t)
  const { state } = await world.person('ada')
  const seq = state.events.last()
  state.tokens.insert({ hash: 'a', id: 'tok_01k9zq3v5w8x2y4z6a8b0c2d4e', created_at: 1 }, 'ci')
  state.tokens.revoke('tok_01k9zq3v5w8x2y4z6a8b0c2d4e', 2, 'ci')
  state.tokens.revoke('tok_01k9zq3v5w8x2y4z6a8b0c2d4e', 3, 'ci')
  const token = { token_id: 'tok_01k9zq3v5w8x2y4z6a8b0c2d4e', name: 'ci' }
  assert.deepEqual(eventsAfter(state, seq), [
    ['token.created', token],
    ['token.revoked', token],
  ])
})

test('a device that signs in has each of its connections added', async (t) => {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const ids = []
  for (let n = 0; n < 5; n++) ids.push(await ada.connect(`Bank ${n}`))
  await joinMembers(ada, ids[0] as string, [bob])
  const phone = await world.further(ada, 'phone')
  await ada.sync()
  const events = await during(phone, () => phone.sync())
  const added = events.filter(([type]) => type === 'connection.added')
  assert.deepEqual(
    new Set(added.map(([, data]) => (data as { connection_id: string }).connection_id)),
    new Set(ids),
  )
  assert.equal(events.filter(([type]) => type === 'connection.ready').length, 5)
  assert.equal(events.length, 11)
})

test('each type of the catalogue was caused', () => {
  assert.deepEqual(
    EVENT_TYPES.filter((type) => !caused.has(type)),
    // test/webhooks/deliveries.test.ts causes it.
    ['webhook.given_up'],
  )
})
