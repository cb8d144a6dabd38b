/**
 * Tests stolen and lost devices, which have the secrets of all members.
 * Nothing verifies by them once their account has revoked them.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { AppError } from '../../../src/errors.ts'
import { remove, rotateNow } from '../../../src/device/connections/members.ts'
import { revoke } from '../../../src/device/session/sign-out.ts'
import { trustCards } from '../../../src/handlers/trust-cards.ts'
import { at, confirmAt } from '../../world/requests.ts'
import { gate } from '../enrolled.ts'
import {
  type DeviceUser,
  connected,
  joinMembers,
  three,
  verifies,
  worldOf,
} from '../../world/world.ts'
import { away, instead } from '../../world/interceptor.ts'

/**
 * Checks that the speaker’s words are inconclusive at the other device.
 * A rotation is pending there, since another holder of the secret may know the words.
 */
async function isHeld(by: DeviceUser, speaker: DeviceUser, connection: string) {
  const { verified, conclusive, reasons } = await by.hears(speaker.words(connection))
  assert.deepEqual([verified, conclusive, reasons], [false, false, ['rotation_pending']])
}

/** Returns a device that can append nothing to rosters now. */
const cutOff = (user: DeviceUser) => user.restart(instead('rosters', 'append', () => away))

/** Returns the same device with an unchanged account. */
const honest = (user: DeviceUser) => user.restart((account) => account)

/** Connects Ada and Bob, and gives Ada a further device that will be stolen. */
async function theft(t: TestContext) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const id = await connected(ada, bob)
  const stolen = await world.further(ada, 'phone')
  for (const user of [ada, stolen, bob]) await user.sync()
  return { world, ada, bob, id, stolen }
}

/** Compares the safety number of an account and confirms it. */
async function confirmKeys(user: DeviceUser, account: string) {
  await trustCards.list({ limit: 50 }, at(user))
  await confirmAt(user, account)
}

const signedOut = { last_device: true, forget: false }

describe('an account that was reset', () => {
  it('words of its lost devices verify nowhere', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await world.reset('bob')
    await ada.sync()
    world.later()
    await isHeld(ada, bob, id)
  })

  it('after all its devices signed out: no words verify until an owner confirms its new keys', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const id = await ada.connect()
    await joinMembers(ada, id, [bob, cy])
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    const bobId = bob.id
    await bob.flow.end(signedOut)
    await world.reset('bob')
    await cy.sync()
    world.later()
    await isHeld(cy, ada, id)
    await ada.sync()
    await confirmKeys(ada, bobId)
    await cy.sync()
    world.later()
    assert(await verifies(ada, cy, id))
    assert(await verifies(cy, ada, id))
  })

  for (const [how, settle] of [
    [
      'removes the account',
      (ada: DeviceUser, bob: string, id: string) => remove(ada.device(), ada.account(), id, bob),
    ],
    ['confirms its new keys', (ada: DeviceUser, bob: string) => confirmKeys(ada, bob)],
  ] as const)
    it(`in a group, no words verify until an owner ${how}`, async (t) => {
      const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
      const id = await ada.connect()
      await joinMembers(ada, id, [bob, cy])
      await trustCards.create({ body: { user_id: bob.id } }, at(ada))
      await world.reset('bob')
      await cy.sync()
      world.later()
      await isHeld(cy, ada, id)
      await isHeld(cy, bob, id)
      await ada.sync()
      await settle(ada, bob.id, id)
      await cy.sync()
      world.later()
      assert(await verifies(cy, ada, id))
      assert(await verifies(ada, cy, id))
      assert.equal((await cy.hears(bob.words(id))).verified, false)
    })
})

describe('a stolen device that the thief signs out', () => {
  it('has words that verify nowhere, until the next sync of the account rotates', async (t) => {
    const { world, ada, bob, id, stolen } = await theft(t)
    const words = stolen.words(id)
    await stolen.flow.end(signedOut)
    await bob.sync()
    const { verified, reasons } = await bob.hears(words)
    assert.deepEqual([verified, reasons], [false, ['rotation_pending']])
    await ada.sync()
    await bob.sync()
    world.later()
    assert(await verifies(bob, ada, id))
    assert(await verifies(ada, bob, id))
  })

  it('a rate-limited rotation is retried by the next sync, and delays nothing else', async (t) => {
    const { bob, ada, stolen } = await theft(t)
    await stolen.flow.end(signedOut)
    await bob.sync()
    let reads = 0
    const limited = ada.restart((account) => ({
      ...account,
      rosters: {
        ...account.rosters,
        append: () => Promise.reject(new AppError('rate_limited', 'Too many entries.')),
      },
      duties: {
        read: async (query) => {
          reads += 1
          return account.duties.read(query)
        },
      },
    }))
    const { ok, error } = await limited.device().sync.run('timer')
    assert.deepEqual([ok, error, reads], [true, 'Too many entries.', 1])
  })

  for (const [when, prepare] of [
    ['before its device synced that', async () => undefined],
    [
      'after its device synced that and could not rotate',
      async (ada: DeviceUser) => void (await ada.device().sync.run('request')),
    ],
  ] as const)
    it(`the owner revokes it ${when}: that succeeds and rotates, and can be repeated`, async (t) => {
      const { world, ada, bob, id, stolen } = await theft(t)
      const { deviceId } = stolen
      await stolen.flow.end(signedOut)
      await prepare(cutOff(ada))
      const back = honest(ada)
      const epoch = () => back.state.connections.get(id)?.epoch ?? 0
      const before = epoch()
      await back.revoke(deviceId)
      assert.deepEqual([epoch(), back.state.connections.get(id)?.hold], [before + 1, null])
      await back.revoke(deviceId)
      assert.equal(epoch(), before + 1, 'nothing is due any more')
      await bob.sync()
      world.later()
      assert(await verifies(bob, back, id))
    })

  it('as the last one of an account: another member rotates within ten minutes', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await bob.flow.end(signedOut)
    await cy.sync()
    world.later()
    await isHeld(cy, ada, id)
    await ada.sync()
    world.later(10)
    await ada.sync()
    await cy.sync()
    assert(await verifies(cy, ada, id))
    assert(await verifies(ada, cy, id))
  })

  it('as the last one of an account that returns: its words verify once an owner confirms its new keys', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    const bobId = bob.id
    await trustCards.create({ body: { user_id: bobId } }, at(ada))
    await bob.flow.end(signedOut)
    await ada.sync()
    await rotateNow(ada.device(), ada.account(), id)
    const anew = await world.reset('bob')
    await anew.sync()
    assert.equal(anew.words(id), null)
    await ada.sync()
    await confirmKeys(ada, bobId)
    for (const user of [anew, cy]) await user.sync()
    world.later()
    assert(await verifies(cy, anew, id))
    assert(await verifies(anew, ada, id))
  })

  it('as the last one of the only owner: the others rotate', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await ada.flow.end(signedOut)
    await bob.sync()
    world.later()
    await isHeld(bob, cy, id)
    await rotateNow(bob.device(), bob.account(), id)
    await cy.sync()
    world.later()
    assert(await verifies(bob, cy, id))
  })
})

describe('words of a revoked device verify nowhere', () => {
  it('although the revoking device signed out before it could rotate', async (t) => {
    const { world, ada, bob, id, stolen } = await theft(t)
    const cut = cutOff(ada)
    await cut.revoke(stolen.deviceId)
    await cut.flow.end({ last_device: true, forget: false })
    await bob.sync()
    world.later()
    await isHeld(bob, stolen, id)
  })

  type List = Account['connections']['list']
  for (const [how, after] of [
    ['returns the connections from before the revocation', (before: List): List => before],
    ['is unreachable after the revocation', (): List => away],
  ] as const)
    it(`although a sync ran meanwhile, and the account server ${how}`, async (t) => {
      const { world, ada, bob, id, stolen } = await theft(t)
      // The sync has something to check, and needs Bob’s key log for it.
      await world.further(bob, 'tablet')
      await rotateNow(bob.device(), bob.account(), id)
      await stolen.sync()
      const before = await ada.account().connections.list({ limit: 50 })
      const [asked, paused] = [gate(), gate()]
      let isRevoked = false
      const busy = ada.restart((account) => ({
        ...account,
        connections: {
          ...account.connections,
          list: async (page) => (isRevoked ? after(async () => before)(page) : before),
        },
        keyLogs: {
          ...account.keyLogs,
          read: async (of) => {
            const answer = await account.keyLogs.read(of)
            if (of.account !== bob.id) return answer
            asked.resolve()
            await paused.promise
            return answer
          },
        },
      }))
      const { sync, ...device } = busy.device()
      const running = sync.run('timer')
      await asked.promise
      const runAnew: typeof sync.runAnew = (trigger) => {
        isRevoked = true
        paused.resolve()
        return sync.runAnew(trigger)
      }
      await revoke({ ...device, sync: { ...sync, runAnew } }, busy.account(), stolen.deviceId)
      await running
      world.later()
      // The stolen device can still compute Bob’s words, as well as Ada’s.
      assert.equal((await busy.hears(bob.words(id))).verified, false)
      await bob.sync()
      assert.equal((await bob.hears(stolen.words(id))).verified, false)

      const back = honest(busy)
      await back.sync()
      await bob.sync()
      world.later()
      assert(await verifies(back, bob, id))
      assert(await verifies(bob, back, id))
    })

  /** Follows an account, as another device of the same account does. */
  const followed = async (bob: DeviceUser, ada: DeviceUser) => {
    await bob.account().trustCards.create({ body: { user_id: ada.id } })
  }
  const invited = async (bob: DeviceUser, ada: DeviceUser) => {
    const other = await bob.connect('Other')
    await bob.invite(other, { user_id: ada.id })
    await ada.approve()
  }
  /**
   * Returns a device with a sync in which the revocation comes after the connections were
   * fetched.
   */
  const late = (bob: DeviceUser, revoking: () => Promise<unknown>) =>
    bob
      .restart(
        instead('duties', 'read', (read) => async (of) => {
          await revoking()
          return read(of)
        }),
      )
      .sync()
  const listed = async (bob: DeviceUser, revoking: () => Promise<unknown>) => {
    await revoking()
    await trustCards.list({ limit: 50 }, at(bob))
  }
  for (const [how, prepare, learn] of [
    ['a sync that fetches the keys of followed accounts', followed, late],
    ['a sync that adds the same account to another connection', invited, late],
    ['a list of followed accounts', followed, listed],
  ] as const)
    it(`once the revocation is in a fetched key log, here by ${how}`, async (t) => {
      const { world, ada, bob, id, stolen } = await theft(t)
      await prepare(bob, ada)
      await learn(bob, () => cutOff(ada).revoke(stolen.deviceId))
      world.later()
      await isHeld(bob, stolen, id)
    })

  it('once the revocation is in a fetched key log, here by an approval of a further device', async (t) => {
    const { world, ada, id, stolen } = await theft(t)
    const laptop = await world.further(ada, 'laptop')
    for (const user of [ada, laptop]) await user.sync()
    await cutOff(laptop).revoke(stolen.deviceId)
    assert.equal(ada.state.connections.get(id)?.hold, null)
    await world.further(ada, 'tablet')
    assert.equal(ada.state.connections.get(id)?.hold, 'rotation_pending')
  })
})
