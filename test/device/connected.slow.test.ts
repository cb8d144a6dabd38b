/**
 * Tests the members of a connection.
 * The cases check which words verify when a member joins, is removed, leaves or loses a device.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { leaveOrEnd, remove, rotateNow, setRole } from '../../src/device/connections/members.ts'
import { AppError } from '../../src/errors.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { at, confirmAt } from '../world/requests.ts'
import {
  connected,
  newWorld,
  joinMembers,
  verifies,
  type DeviceUser,
  three,
} from '../world/world.ts'
import { type Call, rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const saysOf = ({
  verified,
  conclusive,
  replayed,
  echo,
}: Awaited<ReturnType<DeviceUser['hears']>>) => ({
  verified,
  conclusive,
  replayed,
  echo,
})

describe('two people', () => {
  it('each verifies the other, once; own words are an echo', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    const good = { verified: true, conclusive: true, replayed: false, echo: false }
    const bobs = bob.words(id)
    const verified = await ada.hears(bobs)
    assert.deepEqual(saysOf(verified), good)
    assert.deepEqual(
      verified.matches.map(({ member_id, display_name, connection_name }) => [
        member_id,
        display_name,
        connection_name,
      ]),
      [[bob.id, 'bob', 'Bank']],
    )
    assert.deepEqual(saysOf(await ada.hears(bobs)), { ...good, verified: false, replayed: true })
    assert.deepEqual(saysOf(await bob.hears(ada.words(id))), good)
    assert.deepEqual(saysOf(await ada.hears(ada.words(id))), {
      ...good,
      verified: false,
      echo: true,
    })
    assert.equal(ada.device().vault.get(id)?.length, 32)
    assert.deepEqual(ada.device().vault.get(id), bob.device().vault.get(id))
  })

  it('an invited address without an account is added once an account confirms it', async (t) => {
    const world = await newWorld(t)
    const ada = await world.person('ada')
    const id = await ada.connect()
    await ada.invite(id, { email: 'Bob@Example.org' })
    await ada.sync()
    const bob = await world.person('bob')
    await bob.approve()
    await ada.sync()
    await bob.sync()
    assert(await verifies(ada, bob, id))
    assert(await verifies(bob, ada, id))
  })

  it('before the approval, and before the inviter’s sync, the invitee has no words', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await ada.connect()
    await ada.invite(id, { user_id: bob.id })
    await ada.sync()
    await bob.sync()
    assert.equal(bob.words(id), null)
    await bob.approve()
    await bob.sync()
    assert.equal(bob.words(id), null)
    assert.equal((await bob.account().connections.list({})).items.length, 0)
  })

  it('the device keeps the name under which a connection was joined', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    const renamed = bob.restart((account) => ({
      ...account,
      connections: {
        ...account.connections,
        list: async (page) => {
          const { items, next_cursor } = await account.connections.list(page)
          const liars = items.map((item) => ({
            ...item,
            updated_at: '2031-01-01T00:00:00.000Z',
            members: item.members.map((one) => ({ ...one, display_name: 'The Bank' })),
          }))
          return { items: liars, next_cursor }
        },
      },
    }))
    await renamed.sync()
    const { matches } = await renamed.hears(ada.words(id))
    assert.deepEqual(
      matches.map(({ display_name }) => display_name),
      ['ada'],
    )
  })
})

describe('three people', () => {
  it('after one is removed, the others verify in the new epoch, and the words of the third do not', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    for (const [by, of] of [
      [ada, cy],
      [cy, bob],
      [bob, ada],
    ] as const)
      assert(await verifies(by, of, id))
    world.later()
    await remove(ada.device(), ada.account(), id, cy.id)
    assert.equal(await verifies(ada, cy, id), false, 'at the one who removed, at once')
    await bob.sync()
    assert.equal(await verifies(bob, cy, id), false)
    assert(await verifies(ada, bob, id))
    assert(await verifies(bob, ada, id))
    await cy.sync()
    assert.equal(cy.words(id), null)
    assert.equal(cy.device().vault.has(id), false)
    await rejects('not_found', cy.account().rosters.read({ connection: id }))
    await ada.sync()
    assert.equal((await ada.account().rosters.read({ connection: id })).entries.length, 4)
  })

  it('a removed member who learns of it only from the roster signs nothing', async (t) => {
    const { ada, cy, id } = await three(t)
    await remove(ada.device(), ada.account(), id, cy.id)
    const shown = cy.restart(
      instead('rosters', 'read', () => (of) => ada.account().rosters.read(of)),
    )
    await rejects('not_found', rotateNow(shown.device(), shown.account(), id))
  })

  it('after one leaves, no words verify until a remaining member rotated', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    const lastWords = cy.words(id)
    assert.equal(await leaveOrEnd(cy.device(), cy.account(), id), 'left')
    await cy.sync()
    world.later()
    const offline = ada.restart((account) => ({
      ...account,
      duties: { read: async () => ({ joins: [], unsealed: [] }) },
      rosters: {
        ...account.rosters,
        append: () => Promise.reject(new Error('not now')),
      },
    }))
    await offline.device().sync.run('request')
    const { verified, reasons } = await offline.hears(bob.words(id) ?? lastWords)
    assert.deepEqual([verified, reasons], [false, ['rotation_pending']])
    assert.equal(offline.words(id), null)

    const rotated = ada.restart()
    await rotated.sync()
    await bob.sync()
    world.later()
    assert(await verifies(rotated, bob, id))
    assert(await verifies(bob, rotated, id))
    assert.equal((await bob.hears(lastWords)).verified, false)
  })

  it('only owners invite, remove and change roles; the last owner stays', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await rejects('forbidden', remove(bob.device(), bob.account(), id, cy.id))
    await rejects('forbidden', bob.invite(id, { user_id: ada.id }))
    const lastOwner = (call: Call) =>
      rejects('invalid_state', call, { state: 'last_owner', says: /only owner/ })
    await lastOwner(leaveOrEnd(ada.device(), ada.account(), id))
    const toMember = { member: ada.id, role: 'member' } as const
    await lastOwner(setRole(ada.device(), ada.account(), id, toMember))
    const { members } = await setRole(ada.device(), ada.account(), id, {
      member: bob.id,
      role: 'owner',
    })
    assert.equal(members.find(({ user_id }) => user_id === bob.id)?.role, 'owner')
    await setRole(ada.device(), ada.account(), id, toMember)
    await rejects('forbidden', remove(ada.device(), ada.account(), id, cy.id))
    await remove(bob.device(), bob.account(), id, cy.id)
    assert.equal(await leaveOrEnd(ada.device(), ada.account(), id), 'left')
    await bob.sync()
    assert.equal(await leaveOrEnd(bob.device(), bob.account(), id), 'left', 'others were in it')
    assert.equal((await bob.account().connections.list({})).items.length, 0)
  })

  it('after a manual rotation old words do not verify', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    const before = bob.words(id)
    const { epoch } = await rotateNow(cy.device(), cy.account(), id)
    assert.equal(epoch, 2)
    await ada.sync()
    assert.equal((await ada.hears(before)).verified, false)
    await bob.sync()
    world.later()
    assert(await verifies(ada, bob, id))
  })

  it('a removed member is added again only by a new invitation', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await remove(ada.device(), ada.account(), id, cy.id)
    for (const user of [ada, bob, cy, ada]) await user.sync()
    assert.equal(cy.words(id), null)
    await joinMembers(ada, id, [cy])
    world.later()
    await bob.sync()
    assert(await verifies(bob, cy, id))
    assert(await verifies(cy, bob, id))
  })
})

describe('several devices', () => {
  it('a second laptop has no secret at first, and gets one after a sync of any other device', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    const laptop = await world.further(ada, 'ada on the road')
    await laptop.sync()
    const { conclusive, reasons } = await laptop.hears(bob.words(id))
    assert.deepEqual([conclusive, reasons], [false, ['secret_missing']])
    const { pushed } = await bob.sync()
    assert.equal(pushed.envelopes, 1)
    await laptop.sync()
    world.later()
    const verified = await laptop.hears(bob.words(id))
    assert.deepEqual([verified.verified, verified.conclusive], [true, true])
    assert.equal((await ada.sync()).pushed.envelopes, 0, 'nothing is left to do')
  })

  it('a revoked device has no later words, in any connection', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const laptop = await world.further(ada, 'stolen')
    const ids = [await connected(ada, bob, 'one'), await connected(ada, bob, 'two')]
    await laptop.sync()
    for (const id of ids) assert.notEqual(laptop.words(id), null)
    await ada.revoke(laptop.deviceId)
    await bob.sync()
    world.later()
    for (const id of ids) {
      assert.equal((await bob.hears(laptop.words(id))).verified, false)
      assert(await verifies(bob, ada, id))
      assert(await verifies(ada, bob, id))
      assert.notDeepEqual(laptop.device().vault.get(id), ada.device().vault.get(id))
    }
  })

  it('after a revocation, nothing verifies on the devices that synced it until the rotation', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const laptop = await world.further(ada, 'stolen')
    const id = await connected(ada, bob)
    await laptop.sync()
    const late = ada.restart((account) => ({
      ...account,
      rosters: { ...account.rosters, append: () => Promise.reject(new AppError('conflict', '')) },
    }))
    await late.revoke(laptop.deviceId)
    assert.equal(late.words(id), null)
    await bob.sync()
    const { verified, reasons } = await bob.hears(laptop.words(id))
    assert.deepEqual([verified, reasons], [false, ['rotation_pending']])
    const back = late.restart((account) => account)
    await back.sync()
    await bob.sync()
    world.later()
    assert(await verifies(bob, back, id))
  })

  it('keys that the account server adds after a confirmation get no secret', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    await world.reset('bob')
    await ada.sync()
    await trustCards.list({ limit: 50 }, at(ada))
    // The server refuses the entry that confirms Bob, and then resets the account itself.
    const cut = ada.restart((account) => ({
      ...account,
      rosters: { ...account.rosters, append: () => Promise.reject(new AppError('conflict', '')) },
    }))
    await confirmAt(cut, bob.id)
    const thief = await world.reset('bob')
    const after = cut.restart((account) => account)
    await after.sync()
    await thief.sync().catch(() => undefined)
    assert.equal(thief.device().vault.has(id), false)
    assert.equal(thief.words(id), null)
  })

  it('an account that was reset has no words until an owner confirms its new keys', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    const anew = await world.reset('bob')
    await ada.sync()
    await anew.sync().catch(() => undefined)
    assert.equal(anew.words(id), null, 'nothing is sealed to it')
    const { items } = await trustCards.list({ limit: 50 }, at(ada))
    assert.deepEqual(
      items.map(({ key_status }) => key_status),
      ['changed_unverified'],
    )
    await confirmAt(ada, bob.id)
    await anew.sync()
    world.later()
    assert(await verifies(ada, anew, id))
    assert(await verifies(anew, ada, id))
    assert.equal((await ada.hears(bob.words(id))).verified, false, 'the lost device is out')
  })
})

describe('at the same moment', () => {
  it('two members rotate: one succeeds, and both have the same secret', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    await Promise.all([
      rotateNow(ada.device(), ada.account(), id),
      rotateNow(bob.device(), bob.account(), id),
    ])
    await ada.sync()
    await bob.sync()
    assert.deepEqual(ada.device().vault.get(id), bob.device().vault.get(id))
    world.later()
    assert(await verifies(ada, bob, id))
  })
})
