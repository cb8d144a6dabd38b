/**
 * Tests a wall clock that is set ahead or back while the machine runs, and across restarts.
 * The cases check which words are shown and which are accepted.
 */
import assert from 'node:assert/strict'
import { uptime } from 'node:os'
import { describe, it } from 'node:test'
import { timeAt } from '../../../src/api/fields.ts'
import { newClockWatch } from '../../../src/device/codes/clock.ts'
import { machineUptime } from '../../../src/device/codes/uptime.ts'
import { connections } from '../../../src/handlers/connections.ts'
import { guestCodes } from '../../../src/handlers/guest-codes.ts'
import { preferences, profile } from '../../../src/handlers/account.ts'
import { stamp } from '../../../src/handlers/stamp.ts'
import { contextOf } from '../../world/requests.ts'
import { MINUTE } from '../bench.ts'
import { actAt } from '../enrolled.ts'
import { newMeta } from '../meta.ts'
import { SPAN, WRONG, far, moveState, pass, restart, set } from './moving-clock.ts'
import { rejects } from '../../rejects.ts'

describe('a clock that is set back after a good sync', () => {
  for (const [how, reopened] of [
    ['in the same run', false],
    ['and the daemon is started again', true],
  ] as const)
    it(`${how}: recorded words do not verify, and no answer is conclusive`, async (t) => {
      const { first, open, wordsAt } = await far(t)
      const recorded = wordsAt(first.clock.ms)
      pass(first, SPAN)
      assert((await first.sync.run('timer')).ok)
      set(first, -SPAN)
      const device = reopened ? open() : first
      for (const words of [recorded, WRONG]) {
        const { verified, conclusive, reasons } = await device.verifier.verify(words, null)
        assert.deepEqual([verified, conclusive, reasons], [false, false, ['clock_uncertain']])
      }
      assert(device.soon.length > 0, 'no sync was asked for')
    })

  it('is reported in the summary of matching words, too', async (t) => {
    const { first, wordsAt } = await far(t)
    const recorded = wordsAt(first.clock.ms)
    pass(first, SPAN)
    set(first, -SPAN)
    const { matches, summary } = await first.verifier.verify(recorded, null)
    assert.equal(matches.length, 1)
    assert.match(summary, /the clock cannot be trusted: no proof/)
  })

  it('is measured by the next sync: answers are inconclusive until it is right', async (t) => {
    const { first, wordsAt } = await far(t)
    set(first, -SPAN)
    assert((await first.sync.run('timer')).ok)
    const wrong = await first.verifier.verify(WRONG, null)
    assert.deepEqual([wrong.conclusive, wrong.reasons], [false, ['clock_uncertain']])
    set(first, SPAN)
    assert((await first.sync.run('timer')).ok)
    const right = await first.verifier.verify(wordsAt(first.clock.ms), null)
    assert.deepEqual([right.verified, right.reasons], [true, []])
  })
})

describe('a clock that moved since it was measured', () => {
  for (const [ms, reasons] of [
    [30_000, []],
    [-30_000, []],
    [30_001, ['clock_uncertain']],
    [-30_001, ['clock_uncertain']],
  ] as const)
    it(`by ${ms} ms: ${reasons.join() || 'no effect'}`, async (t) => {
      const { first } = await far(t)
      pass(first, 10 * MINUTE)
      set(first, ms)
      assert.deepEqual((await first.verifier.verify(WRONG, null)).reasons, reasons)
    })

  it('is uncertain after a restart of the machine, until it is measured', async (t) => {
    const { first, open } = await far(t)
    pass(first, SPAN)
    restart(first, SPAN)
    const device = open()
    assert.deepEqual((await device.verifier.verify(WRONG, null)).reasons, ['clock_uncertain'])
    // No measurement shows that the clock is wrong, so the device shows words.
    const id = await device.connect()
    assert.equal((await connections.code({ id }, contextOf(device))).connection_id, id)
  })

  it('is uncertain, and not wrong, on another machine with a longer uptime', async (t) => {
    const { first, open } = await far(t)
    moveState(first, 10 * first.clock.ms)
    const device = open()
    assert.deepEqual((await device.verifier.verify(WRONG, null)).reasons, ['clock_uncertain'])
    const id = await device.connect()
    assert.equal((await connections.code({ id }, contextOf(device))).connection_id, id)
  })

  it('requests a sync once a minute, however often it is read, without an operation id', async (t) => {
    const { first } = await far(t)
    const checkClock = async () => {
      for (let i = 0; i < 5; i++) {
        await first.verifier.verify(WRONG, String(i))
        await guestCodes.list({ limit: 50 }, contextOf(first))
      }
    }
    await checkClock()
    assert.deepEqual(first.soon, [])
    set(first, SPAN)
    await checkClock()
    assert.deepEqual(first.soon, ['timer'])
    pass(first, MINUTE)
    await checkClock()
    assert.deepEqual(first.soon, ['timer', 'timer'])
    set(first, -SPAN)
    await checkClock()
    set(first, -SPAN)
    await checkClock()
    assert.deepEqual(first.soon, ['timer', 'timer', 'timer'], 'another state is another reason')
  })

  for (const [name, ms] of [
    ['ahead', SPAN],
    ['back', -SPAN],
  ] as const)
    it(`${name}: the device shows no own words`, async (t) => {
      const { first } = await far(t)
      const id = await first.connect()
      const { items } = await guestCodes.list({ limit: 50 }, contextOf(first))
      assert.notEqual(items[0]?.code, null)
      set(first, ms)
      await rejects('invalid_state', connections.code({ id }, contextOf(first)), {
        says: new RegExp(`moved ${name} since it was last checked.*sync`),
        state: 'clock_uncertain',
      })
      const later = await guestCodes.list({ limit: 50 }, contextOf(first))
      assert.deepEqual(
        later.items.map(({ code, secret_here }) => [code, secret_here]),
        [[null, true]],
      )
    })

  for (const [name, ms] of [
    ['ahead', SPAN],
    ['back', -SPAN],
  ] as const)
    it(`${name}: the profile has no public words, and a stamp has no offset to the server`, async (t) => {
      const { first } = await far(t)
      await preferences.update({ body: { public_code: true } }, contextOf(first))
      const publicCode = async () => (await profile.read({}, contextOf(first))).public_code
      const clockIn = async (content: string) => {
        const act = { act: actAt(first.clock.ms) }
        const { stamp: jws } = await stamp.create({ body: { content } }, contextOf(first, {}, act))
        const [, payload = ''] = jws.split('.')
        return JSON.parse(Buffer.from(payload, 'base64url').toString()).clock
      }
      assert.notEqual(await publicCode(), null)
      assert.equal((await clockIn('before')).source, 'server')
      set(first, ms)
      assert.equal(await publicCode(), null)
      assert.deepEqual(await clockIn('after'), { source: 'local', offset_ms: 0 })
    })
})

describe('the uptime of the machine', () => {
  /** Returns a watch of an account server’s clock, measured at 0. */
  function watchBy(uptime: { exact: () => number; recent: () => number }) {
    const { meta } = newMeta()
    const clock = { read: async () => ({ now: timeAt(0), public_url: 'https://countersign.test' }) }
    const watch = newClockWatch({ meta, clock, uptime, boot: 'boot', syncedAt: () => null })
    watch.measured(0)
    return watch
  }

  it('is read again before the clock counts as wrong: just after a sleep, the last reading is old', () => {
    let exact = 0
    const watch = watchBy({ exact: () => exact, recent: () => 0 })
    exact = SPAN
    assert.equal(watch.state(SPAN), 'steady')
    assert.equal(watch.state(3 * SPAN), 'ahead')
    assert.equal(watch.state(-SPAN), 'behind')
  })

  it('is the machine’s, and increases between two readings', () => {
    const { exact, recent } = machineUptime()
    const before = exact()
    assert(Math.abs(before / 1000 - uptime()) < 60)
    const after = Array.from({ length: 1000 }, recent)
    assert(after.every((ms, i) => ms >= (after[i - 1] ?? before)))
    assert(after.at(-1)! > before)
  })
})
