/**
 * Tests the sealing key of a device: renewed every 90 days and on demand.
 * The previous one is kept for 7 days.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { markRestored } from '../../src/device/identity/own-keys.ts'
import { rotateNow } from '../../src/device/connections/members.ts'
import { renewNow } from '../../src/device/sync/seal-renewal.ts'
import { AppError } from '../../src/errors.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { newSealKey } from '../crypto/keys.ts'
import { at, confirmAt } from '../world/requests.ts'
import { type DeviceUser, connected, joinMembers, verifies, worldOf } from '../world/world.ts'
import { halvesOf, loggedOf, renewTo, sealedFor } from './sealing.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const DAY = 24 * 60
const MINUTE_MS = 60_000

const renew = (user: DeviceUser) => renewNow(user.device(), user.account())
const rotate = (user: DeviceUser, id: string) => rotateNow(user.device(), user.account(), id)
const renewals = async (user: DeviceUser) => (await loggedOf(user)).renewals.length

/** Connects Ada and Bob and syncs both. */
async function pair(t: TestContext) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const id = await connected(ada, bob)
  return { world, ada, bob, id }
}

describe('the sealing key of a device', () => {
  it('is renewed by the sync when it is 90 days old', async (t) => {
    const { world, ada, bob, id } = await pair(t)
    const { seal: first } = await loggedOf(ada)
    world.later(90 * DAY - 1)
    await ada.sync()
    assert.equal(await renewals(ada), 0)
    world.later()
    await ada.sync()
    const { seal: second } = await loggedOf(ada)
    assert.deepEqual(halvesOf(ada), [first, second])
    await ada.sync()
    assert.equal(await renewals(ada), 1, 'another sync renews nothing')
    // After a restart the device counts from the renewal.
    const again = ada.restart()
    world.later(89 * DAY)
    await again.sync()
    assert.equal(await renewals(ada), 1)
    world.later(DAY)
    await again.sync()
    assert.equal(await renewals(ada), 2)
    for (const user of [bob, again]) await user.sync()
    world.later()
    assert(await verifies(bob, again, id))
    assert(await verifies(again, bob, id))
  })

  it('is renewed on demand, and others seal to the new one', async (t) => {
    const { world, ada, bob, id } = await pair(t)
    const { seal: first } = await loggedOf(ada)
    assert.equal(await renew(ada), world.clock.ms + 7 * DAY * MINUTE_MS)
    const { seal: second } = await loggedOf(ada)
    assert.notEqual(second, first)
    await rotate(bob, id)
    assert.deepEqual(await sealedFor(ada, id), [second])
    await ada.sync()
    world.later()
    assert(await verifies(ada, bob, id))
  })

  it('is renewed at most six times in 7 days', async (t) => {
    const { world, ada } = await pair(t)
    for (let times = 0; times < 6; times++) await renew(ada)
    await rejects('rate_limited', renew(ada), { says: /6 times in 7 days.*in 168 hours/ })
    assert.equal(await renewals(ada), 6)
    // The limit of Windows for one name of its credential store, in UTF-16.
    assert(ada.keychain.get('device')!.length * 2 <= 2560)
    world.later(7 * DAY)
    await ada.sync()
    await renew(ada)
    assert.equal(await renewals(ada), 7)
  })

  it('is renewed after an entry that another device adds at the same moment', async (t) => {
    const { ada, world } = await pair(t)
    const laptop = await world.further(ada, 'laptop')
    let isFirst = true
    const racing = ada.restart(
      instead('keyLogs', 'append', (append) => async (of) => {
        if (isFirst) {
          isFirst = false
          await renew(laptop)
        }
        return append(of)
      }),
    )
    await renew(racing)
    assert.deepEqual([await renewals(ada), await renewals(laptop)], [1, 1])
    assert.equal(halvesOf(ada).at(-1), (await loggedOf(ada)).seal)
  })

  it('is renewed for each of two concurrent requests, and no key is lost', async (t) => {
    const { ada } = await pair(t)
    await Promise.all([renew(ada), renew(ada)])
    assert.equal(halvesOf(ada).at(-1), (await loggedOf(ada)).seal)
    await renew(ada)
    const { seal, renewals: all } = await loggedOf(ada)
    assert.deepEqual(
      halvesOf(ada).slice(1),
      all.map((one) => one.seal),
    )
    assert.equal(halvesOf(ada).at(-1), seal)
  })

  it('does not prevent a further device from signing in again', async (t) => {
    const { ada, world } = await pair(t)
    const laptop = await world.further(ada, 'laptop')
    await renew(laptop)
    const { deviceId } = laptop
    await world.again(laptop, ada)
    assert.equal(laptop.deviceId, deviceId)
    assert.equal((await laptop.flow.read()).state, 'signed_in')
  })
})

describe('a lost answer of the account server', () => {
  /**
   * Returns a device that loses the answer to a renewal, after or before the server accepted it.
   */
  const losing = (user: DeviceUser, isTaken: boolean) =>
    user.restart(
      instead('keyLogs', 'append', (append) => async (of) => {
        if (isTaken) await append(of)
        throw new AppError('backend_timeout', 'No answer.')
      }),
    )

  for (const isTaken of [true, false])
    it(`if it ${isTaken ? 'accepted' : 'did not accept'} the entry: the next sync continues with the same key`, async (t) => {
      const { world, ada, bob, id } = await pair(t)
      const cut = losing(ada, isTaken)
      await rejects('backend_timeout', renew(cut))
      const [first, made] = halvesOf(ada)
      assert.equal((await loggedOf(ada)).seal, isTaken ? made : first)
      await rotate(bob, id)
      const back = ada.restart((account) => account)
      await back.sync()
      assert.equal(await renewals(ada), 1)
      assert.equal((await loggedOf(ada)).seal, made)
      assert.deepEqual(halvesOf(ada), [first, made])
      world.later()
      assert(await verifies(back, bob, id))
    })

  it('and another renewal on demand: the earlier key is not the newest', async (t) => {
    const { ada } = await pair(t)
    await assert.rejects(renew(losing(ada, false)))
    const [first, made] = halvesOf(ada)
    const back = ada.restart((account) => account)
    await renew(back)
    const { seal, renewals: all } = await loggedOf(ada)
    assert.equal(all[0]?.seal, made)
    assert.deepEqual(halvesOf(ada), [first, made, seal])
  })
})

describe('the old private key', () => {
  it('opens envelopes sealed to it for 7 days', async (t) => {
    const { world, ada, bob, id } = await pair(t)
    const { seal: first } = await loggedOf(ada)
    await rotate(bob, id)
    await renew(ada)
    world.later(7 * DAY - 1)
    assert.deepEqual(await sealedFor(ada, id), [first])
    await ada.sync()
    world.later()
    assert(await verifies(ada, bob, id))
  })

  it('is deleted after 7 days, once the existing envelopes were opened', async (t) => {
    const { world, ada, bob, id } = await pair(t)
    const { seal: first } = await loggedOf(ada)
    await renew(ada)
    const { seal: second } = await loggedOf(ada)
    world.later(7 * DAY - 1)
    await ada.sync()
    assert.deepEqual(halvesOf(ada), [first, second])
    await rotate(bob, id)
    world.later()
    // Offline before it has fetched the envelope: nothing is deleted.
    const cut = ada.restart(
      instead('envelopes', 'read', () => () => {
        throw new AppError('backend_unavailable', 'Away.')
      }),
    )
    assert.equal((await cut.device().sync.run('request')).ok, false)
    assert.deepEqual(halvesOf(ada), [first, second])
    const back = ada.restart((account) => account)
    await back.sync()
    assert.deepEqual(halvesOf(ada), [second])
    world.later()
    assert(await verifies(back, bob, id))
    assert.deepEqual([...(await back.device().identity.keys()).seals.keys()], [second])
  })

  it('is not kept longer if the clock was set back meanwhile', async (t) => {
    const { world, ada } = await pair(t)
    world.later(400 * DAY)
    await renew(ada)
    world.later(-300 * DAY)
    await ada.sync()
    assert.equal(halvesOf(ada).length, 2)
    world.later(7 * DAY)
    await ada.sync()
    assert.deepEqual(halvesOf(ada), [(await loggedOf(ada)).seal])
  })

  it('of a clock that was far ahead: the next renewal is due in 90 days all the same', async (t) => {
    const { world, ada } = await pair(t)
    world.later(400 * DAY)
    await ada.sync()
    const before = await renewals(ada)
    world.later(-400 * DAY)
    await ada.sync()
    world.later(90 * DAY)
    await ada.sync()
    assert.equal(await renewals(ada), before + 1)
  })

  it('with an envelope withheld for that time: another is sealed, to the new key', async (t) => {
    const { world, ada, bob, id } = await pair(t)
    await rotate(bob, id)
    await renew(ada)
    const { seal: second } = await loggedOf(ada)
    const without = ada.restart(instead('envelopes', 'read', () => async () => ({ envelopes: [] })))
    world.later(7 * DAY)
    await without.sync()
    assert.deepEqual(halvesOf(ada), [second])
    const back = ada.restart((account) => account)
    const report = await back.device().sync.run('request')
    assert.match(report.error ?? '', /sealed to a key that this device no longer has/)
    assert.deepEqual(await sealedFor(ada, id), [], 'deleted at the server')
    await bob.sync()
    assert.deepEqual(await sealedFor(ada, id), [second])
    await back.sync()
    world.later()
    assert(await verifies(back, bob, id))
  })
})

describe('contacts', () => {
  it('see neither another safety number nor a warning after a renewal', async (t) => {
    const { world, ada, bob, id } = await pair(t)
    await trustCards.create({ body: { user_id: ada.id } }, at(bob))
    await trustCards.list({ limit: 50 }, at(bob))
    await confirmAt(bob, ada.id)
    const shown = async () => {
      const { items } = await trustCards.list({ limit: 50 }, at(bob))
      return items
    }
    const [before, logged] = [await shown(), bob.logged.length]
    await renew(ada)
    await bob.sync()
    assert.deepEqual(await shown(), before)
    assert.equal(bob.state.connections.get(id)?.hold, null)
    assert.deepEqual(bob.logged.slice(logged), [])
    world.later()
    assert(await verifies(bob, ada, id))
  })

  it('seal nothing to an unusable key, and are not suspended by it', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const id = await ada.connect()
    await joinMembers(ada, id, [bob, cy])
    // The X25519 half is zero, a point of low order; the key deserialises.
    await renewTo(bob, newSealKey().publicKey.fill(0, 1184))
    for (const user of [ada, cy]) await user.sync()
    await rotate(ada, id)
    for (const user of [cy, ada]) await user.sync()
    assert.deepEqual(await sealedFor(bob, id), [])
    world.later()
    assert(await verifies(ada, cy, id))
    assert.equal(ada.state.connections.get(id)?.hold, null)
    // Restored from a backup, that device renews the key that it lacks, and gets the secret.
    markRestored(bob.state)
    await bob.device().sync.run('request')
    for (const user of [bob, ada, bob]) await user.sync()
    world.later()
    assert(await verifies(bob, ada, id))
  })
})
