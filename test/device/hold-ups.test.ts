/** Tests that members who delay a connection repeatedly are named. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dropHoldUps, frequentHolders, noteHoldUps } from '../../src/device/logs/hold-ups.ts'
import { noWords } from '../../src/device/connections/no-words.ts'
import { revoke } from '../../src/device/session/sign-out.ts'
import { newMeta } from './meta.ts'
import { connected, newWorld } from '../world/world.ts'
import { away, instead } from '../world/interceptor.ts'

const HOUR_MS = 3_600_000

describe('a member who suspends a connection repeatedly', () => {
  it('is named after the fourth revocation within 24 hours, and not longer', () => {
    const { meta } = newMeta()
    const named = (hours: number) => frequentHolders({ meta }, 'con_a', hours * HOUR_MS)
    for (const hours of [0, 1, 2, 3]) {
      assert.deepEqual(named(hours), [])
      noteHoldUps(
        { meta },
        'con_a',
        [{ account: 'acc_b', cause: `revocation ${hours}` }],
        hours * HOUR_MS,
      )
    }
    assert.deepEqual(named(3), ['acc_b'])
    assert.deepEqual(frequentHolders({ meta }, 'con_b', 3 * HOUR_MS), [])
    assert.deepEqual(named(24), [], 'the first is a day old')
  })

  it('counts once for each revocation, however often it is seen', () => {
    const { meta } = newMeta()
    for (let at = 0; at < 9; at++)
      noteHoldUps({ meta }, 'con_a', [{ account: 'acc_b', cause: 'revocation 1' }], at)
    assert.deepEqual(frequentHolders({ meta }, 'con_a', 9), [])
  })

  it('is deleted with the connection', () => {
    const { meta, rows } = newMeta()
    noteHoldUps({ meta }, 'con_a', [{ account: 'acc_b', cause: 'revocation 1' }], 0)
    dropHoldUps({ meta }, 'con_a')
    assert.equal(rows.size, 0)
  })

  it('is named to the owner with the command that removes them', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    for (let time = 0; time < 4; time++) {
      const phone = await world.further(bob, `phone ${time}`)
      await bob.sync()
      const cut = bob.restart(instead('rosters', 'append', () => away))
      await revoke(cut.device(), cut.account(), phone.deviceId).catch(() => undefined)
      await ada.sync()
      bob.restart((account) => account)
    }
    const { message } = await noWords(ada.device(), ada.account(), id)
    assert.match(
      message,
      new RegExp(`"bob" has suspended the connection more than three times in a day: .*${bob.id}`),
    )
  })
})
