/**
 * Tests new keys of a member.
 * Only keys that the user confirmed are accepted, only while that holds, and only for an account
 * that is still to be a member.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { remove, rotateNow, setRole } from '../../../src/device/connections/members.ts'
import { trustCards } from '../../../src/handlers/trust-cards.ts'
import { at, confirmAt } from '../../world/requests.ts'
import {
  type DeviceUser,
  connected,
  isIn,
  joinMembers,
  three,
  verifies,
  worldOf,
} from '../../world/world.ts'
import { rejects } from '../../rejects.ts'
import { away, instead } from '../../world/interceptor.ts'

const DAYS = 24 * 60

const follow = (user: DeviceUser, { id }: DeviceUser) =>
  trustCards.create({ body: { user_id: id } }, at(user))
const unfollow = (user: DeviceUser, { id }: DeviceUser) => trustCards.delete({ id }, at(user))

/** Compares the safety number and confirms it. */
async function confirm(user: DeviceUser, { id }: DeviceUser) {
  await trustCards.list({ limit: 50 }, at(user))
  await confirmAt(user, id)
}

/** An account server that accepts this many more entries of rosters, and then does not answer. */
const taking = (user: DeviceUser, most: number) => {
  let taken = 0
  return user.restart(
    instead('rosters', 'append', (append) => (of) => (taken++ < most ? append(of) : away())),
  )
}

/** A device with a next sync that must succeed and sign nothing. */
const signsNothing = (user: DeviceUser, more = (account: Account): Account => account) =>
  user.restart((account) =>
    instead('rosters', 'append', () => () => assert.fail('something was signed'))(more(account)),
  )

const honest = (user: DeviceUser) => user.restart((account) => account)

/**
 * Ada confirmed the new keys of Bob, and the `confirm` entry did not arrive. She has a laptop
 * too.
 */
async function cutOff(t: TestContext) {
  const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
  const id = await ada.connect()
  await joinMembers(ada, id, [bob, cy])
  const laptop = await world.further(ada, 'laptop')
  await ada.sync()
  await laptop.sync()
  await follow(ada, bob)
  const anew = await world.reset('bob')
  await ada.sync()
  await laptop.sync()
  await confirm(taking(ada, 0), bob)
  return { world, ada, laptop, bob, anew, id }
}

const waiting = ({ state }: DeviceUser) => state.invites.again().map(({ target }) => target)

describe('a confirmation of keys that was cut off', () => {
  it('is finished by the next sync', async (t) => {
    const { world, ada, anew, id } = await cutOff(t)
    const back = honest(ada)
    await back.sync()
    await anew.sync()
    world.later()
    assert(await verifies(back, anew, id))
  })

  it('does not add an account that another device removed meanwhile', async (t) => {
    const { ada, laptop, bob, id } = await cutOff(t)
    await remove(laptop.device(), laptop.account(), id, bob.id)
    const back = signsNothing(ada)
    await back.sync()
    assert.deepEqual([isIn(back, id, bob), waiting(back)], [false, []])
  })

  for (const [when, before, during] of [
    ['before a sync', 16, 0],
    ['while one runs', 0, 16],
  ] as const)
    it(`is given up after 15 days that end ${when}, and the waiting account stays a member as before`, async (t) => {
      const { world, ada, bob, id } = await cutOff(t)
      world.later(before * DAYS)
      const late = signsNothing(
        ada,
        instead('duties', 'read', (read) => (of) => {
          world.later(during * DAYS)
          return read(of)
        }),
      )
      await late.sync()
      assert.deepEqual([isIn(late, id, bob), waiting(late)], [true, []])
    })

  it('is given up after 15 days, even if newer keys wait for the user’s review', async (t) => {
    const { world, ada, id, bob } = await cutOff(t)
    await world.reset('bob')
    const back = honest(ada)
    await back.sync()
    assert.deepEqual(waiting(back), [bob.id])
    world.later(16 * DAYS)
    await back.sync()
    assert.deepEqual([isIn(back, id, bob), waiting(back)], [true, []])
  })

  it('is given up when the user unfollows the account', async (t) => {
    const { ada, bob, id } = await cutOff(t)
    assert.deepEqual(waiting(ada), [bob.id])
    await unfollow(ada, bob)
    const back = signsNothing(ada)
    await back.sync()
    assert.deepEqual([isIn(back, id, bob), waiting(back)], [true, []])
  })
})

describe('keys that an owner confirmed and a follower did not', () => {
  /**
   * Eve, an owner, and the account server added Ada with keys of their own.
   * Bob follows Ada and confirmed her keys.
   */
  async function swapped(t: TestContext) {
    const { world, eve, bob, ada } = await worldOf(t, 'eve', 'bob', 'ada')
    const id = await connected(eve, bob)
    await follow(bob, ada)
    await confirm(bob, ada)
    const forged = await world.reset('ada')
    await joinMembers(eve, id, [forged])
    await bob.sync()
    world.later()
    return { world, eve, bob, forged, id }
  }

  it('verify nothing on the follower’s device, and get no secret from it', async (t) => {
    const { world, eve, bob, forged, id } = await swapped(t)
    for (const speaker of [forged, eve]) {
      const { verified, conclusive, reasons } = await bob.hears(speaker.words(id))
      assert.deepEqual([verified, conclusive, reasons], [false, false, ['rotation_pending']])
    }
    await rotateNow(bob.device(), bob.account(), id)
    await bob.sync()
    await forged.sync()
    await eve.sync()
    assert.equal(forged.device().vault.has(id), false, 'neither with a new one nor by a hint')
    world.later()
    assert.equal((await bob.hears(eve.words(id))).verified, false, 'whoever else hands it over')
  })

  for (const [how, act] of [
    ['confirms them', confirm],
    ['unfollows the account', unfollow],
  ] as const)
    it(`until the follower ${how}`, async (t) => {
      const { world, eve, bob, forged, id } = await swapped(t)
      await rotateNow(bob.device(), bob.account(), id)
      await eve.sync()
      await act(bob, forged)
      assert(await verifies(bob, eve, id), 'from that moment')
      await bob.sync()
      await forged.sync()
      world.later()
      assert(await verifies(bob, forged, id))
    })

  it('are reported after unfollowing on another device, and can be unfollowed here as well', async (t) => {
    const { bob, forged, id } = await swapped(t)
    await bob.account().trustCards.delete({ id: forged.id })
    const { error } = await bob.device().sync.run('request')
    assert.match(error ?? '', new RegExp(`countersignd trust unfollow ${forged.id}`))
    assert.equal(
      bob.state.connections.get(id)?.hold,
      'rotation_pending',
      'not on the server’s word',
    )
    await unfollow(bob, forged)
    assert.equal(bob.state.connections.get(id)?.hold, null)
    await bob.sync()
    await rejects('not_found', unfollow(bob, forged))
  })
})

describe('a trust card in an answer of the account server', () => {
  it('is checked against the followed account, and never undoes a confirmation of another', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    await follow(ada, bob)
    await confirm(ada, bob)
    const before = ada.state.trust.get(bob.id)
    await world.reset('bob')
    const card = (await ada.account().trustCards.list({ limit: 1 })).items[0] ?? assert.fail('none')
    const lied = ada.restart(instead('trustCards', 'create', () => async () => card))
    await rejects('backend_error', follow(lied, cy))
    await trustCards.create({ body: { email: 'cy@example.org' } }, at(lied))
    const { pinned, confirmed, newest } = lied.state.trust.get(bob.id) ?? assert.fail('not known')
    assert.deepEqual([pinned, confirmed, newest], [before?.pinned, true, 2])
  })
})

describe('a connection’s creator', () => {
  it('is added again after a reset by another owner, who confirmed the new keys', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
    await bob.sync()
    await follow(bob, ada)
    const anew = await world.reset('ada')
    await bob.sync()
    await confirm(bob, ada)
    for (const user of [anew, cy]) await user.sync()
    world.later()
    assert(await verifies(cy, anew, id))
    assert(await verifies(anew, bob, id))
  })
})
