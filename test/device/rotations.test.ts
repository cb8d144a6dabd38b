/** Tests when devices rotate: at once, after a wait, or by routine. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newRotationWaits } from '../../src/device/logs/hold-ups.ts'
import { revoke } from '../../src/device/session/sign-out.ts'
import { AppError } from '../../src/errors.ts'
import { connected, newWorld, verifies } from '../world/world.ts'

const MINUTE_MS = 60_000
const DAY_MINUTES = 24 * 60

describe('the wait before a rotation for another member', () => {
  for (const [random, minutes] of [
    [0, 1],
    [0.5, 5.5],
    [1, 10],
  ] as const)
    it(`is ${minutes} min`, () => {
      let now = 0
      const planned: number[] = []
      const waits = newRotationWaits({
        now: () => now,
        wake: () => undefined,
        after: (ms) => void planned.push(ms),
        random: () => random,
      })
      const roster = { connection: 'con_a', epoch: 1 }
      assert.equal(waits.isOver(roster), false)
      assert.deepEqual(planned, [minutes * MINUTE_MS])
      now = minutes * MINUTE_MS - 1
      assert.equal(waits.isOver(roster), false)
      now += 1
      assert.equal(waits.isOver(roster), true)
      assert.equal(waits.isOver({ ...roster, epoch: 2 }), false, 'another epoch waits anew')
    })
})

describe('a revoked device of another member', () => {
  it('is excluded by a rotation that names the revocation, after ten minutes at most', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    const phone = await world.further(bob, 'phone')
    for (const user of [bob, phone, ada]) await user.sync()
    // Bob signs the phone out. Then his laptop does not sync again.
    const cut = bob.restart((account) => ({
      ...account,
      rosters: {
        ...account.rosters,
        append: () => Promise.reject(new AppError('backend_unavailable', 'Away.')),
      },
    }))
    await revoke(cut.device(), cut.account(), phone.deviceId).catch(() => undefined)
    await ada.sync()
    assert.equal(ada.words(id), null)
    world.later(10)
    await ada.sync()
    assert.notEqual(ada.words(id), null)
    assert.equal(phone.device().vault.has(id), true, 'it has only the former secret')
    const back = cut.restart((account) => account)
    await back.sync()
    world.later()
    assert(await verifies(ada, back, id))
  })
})

describe('a routine rotation', () => {
  it('gives a connection another secret 90 to 104 days after an epoch was first seen', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    for (const user of [ada, bob]) await user.sync()
    const epoch = () => ada.state.connections.get(id)?.epoch
    world.later(89 * DAY_MINUTES)
    await ada.sync()
    assert.equal(epoch(), 1)
    world.later(15 * DAY_MINUTES)
    await ada.sync()
    assert.equal(epoch(), 2)
    await bob.sync()
    await ada.sync()
    assert.equal(epoch(), 2, 'the first device wins')
    world.later()
    assert(await verifies(ada, bob, id))
  })
})
