/**
 * Tests a wall clock that is set ahead or back without a measurement of another clock.
 * The account server is in this process and measures nothing.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { connections } from '../../../src/handlers/connections.ts'
import { contextOf } from '../../world/requests.ts'
import { MINUTE } from '../bench.ts'
import { enrolled } from '../enrolled.ts'
import { SPAN, WRONG, far, guestOf, moveState, pass, restart, set } from './moving-clock.ts'
import { rejects } from '../../rejects.ts'

describe('the clock of an embedded account, with no server clock to compare to', () => {
  /** Returns the device after a sync. */
  async function alone(t: TestContext) {
    const device = await enrolled(t)
    const wordsAt = await guestOf(device)
    assert((await device.sync.run('start')).ok)
    return { device, wordsAt }
  }

  for (const [how, reopened] of [
    ['in the same run', false],
    ['and the daemon is started again', true],
  ] as const)
    it(`is set back, ${how}: recorded words do not verify, before and after a sync`, async (t) => {
      const { device, wordsAt } = await alone(t)
      const recorded = wordsAt(device.clock.ms)
      pass(device, SPAN)
      set(device, -SPAN)
      const now = reopened ? device.reopen() : device
      for (const synced of [false, true]) {
        if (synced) {
          const { ok, error } = await now.sync.run('request')
          assert(ok)
          assert.match(
            String(error),
            /clock of this machine shows an earlier time.*sync --clock-is-right/,
          )
        }
        const { verified, conclusive, reasons } = await now.verifier.verify(recorded, null)
        assert.deepEqual([verified, conclusive, reasons], [false, false, ['clock_uncertain']])
      }
    })

  it('is set back in small steps: the steps add up', async (t) => {
    const { device, wordsAt } = await alone(t)
    const recorded = wordsAt(device.clock.ms)
    const reasons: string[] = []
    for (const _ of [1, 2]) {
      pass(device, 2 * MINUTE)
      set(device, -29_000)
      reasons.push((await device.verifier.verify(WRONG, null)).reasons.join())
    }
    assert.deepEqual(reasons, ['', 'clock_uncertain'])
    assert.equal((await device.verifier.verify(recorded, null)).verified, false)
  })

  it('is corrected back and then ahead: small corrections cancel out', async (t) => {
    const { device, wordsAt } = await alone(t)
    for (const ms of [-20_000, 20_000, -20_000, 20_000]) {
      pass(device, 2 * MINUTE)
      set(device, ms)
      const { verified } = await device.verifier.verify(wordsAt(device.clock.ms), null)
      assert(verified)
    }
  })

  it('is set back while the machine is off: words from before the last use do not verify', async (t) => {
    const { device, wordsAt } = await alone(t)
    const recorded = wordsAt(device.clock.ms)
    pass(device, SPAN)
    await device.verifier.verify(WRONG, null)
    restart(device, -SPAN)
    const { verified, reasons } = await device.reopen().verifier.verify(recorded, null)
    assert.deepEqual([verified, reasons], [false, ['clock_uncertain']])
  })

  it('stays valid after the state moved to a machine with a longer uptime', async (t) => {
    const { device, wordsAt } = await alone(t)
    moveState(device, 10 * device.clock.ms)
    const altered = device.reopen()
    const { verified, reasons } = await altered.verifier.verify(wordsAt(altered.clock.ms), null)
    assert.deepEqual([verified, reasons], [true, []])
  })

  it('is set back before the state moves: words from before the last use do not verify', async (t) => {
    const { device, wordsAt } = await alone(t)
    const recorded = wordsAt(device.clock.ms)
    pass(device, SPAN)
    await device.verifier.verify(WRONG, null)
    device.clock.ms -= SPAN
    moveState(device, 10 * device.clock.ms)
    const { verified, reasons } = await device.reopen().verifier.verify(recorded, null)
    assert.deepEqual([verified, reasons], [false, ['clock_uncertain']])
  })

  it('shows no own words when set back, and the error names the command that accepts the clock', async (t) => {
    const { device } = await alone(t)
    const id = await device.connect()
    set(device, -SPAN)
    await rejects('invalid_state', connections.code({ id }, contextOf(device)), {
      says: /shows an earlier time.*"countersignd sync --clock-is-right"/,
      state: 'clock_uncertain',
    })
  })

  it('stays valid after the machine was off or asleep, or the clock is set ahead', async (t) => {
    const { device, wordsAt } = await alone(t)
    for (const move of [restart, set, pass]) {
      move(device, SPAN)
      const { verified, reasons } = await device.verifier.verify(wordsAt(device.clock.ms), null)
      assert.deepEqual([verified, reasons], [true, []])
    }
  })

  it('was ahead and is right again: the user can accept it', async (t) => {
    const { device, wordsAt } = await alone(t)
    set(device, SPAN)
    await device.verifier.verify(WRONG, null)
    set(device, -SPAN)
    pass(device, MINUTE)
    assert.deepEqual((await device.verifier.verify(WRONG, null)).reasons, ['clock_uncertain'])
    device.acceptClock()
    const { verified, reasons } = await device.verifier.verify(wordsAt(device.clock.ms), null)
    assert.deepEqual([verified, reasons], [true, []])
  })

  it('cannot be accepted by the user if an account server measures it', async (t) => {
    const { first } = await far(t)
    assert.throws(() => first.acceptClock(), { code: 'invalid_state' })
  })
})
