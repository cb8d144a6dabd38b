/** Tests when the index of codes is updated. Time passes only when the test advances it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newCodeSchedule } from '../../../src/device/codes/code-schedule.ts'
import { MINUTE, T0, W0 } from '../bench.ts'

const SLICE_MS = 1
const UNIT_MS = 0.25
const FEW = 600

/**
 * Returns a schedule over work in units of a quarter of a millisecond.
 * The test controls all its clocks.
 */
function workshop({ units = 0, codes = FEW } = {}) {
  const clock = { ms: T0 }
  const now = () => clock.ms
  let elapsed = 0
  let turns: (() => void)[] = []
  let timers: { ms: number; call: () => void }[] = []
  const left = { units, error: null as Error | null }
  const slices: { windows: readonly number[]; ms: number }[] = []
  const schedule = newCodeSchedule({
    codes: () => codes,
    pace: {
      elapsed: () => elapsed,
      turn: () => new Promise((resolve) => turns.push(resolve)),
      later: (ms, call) => timers.push({ ms, call }),
    },
    work(windows, enough) {
      if (left.error !== null) throw left.error
      const from = elapsed
      try {
        while (left.units > 0) {
          left.units--
          elapsed += UNIT_MS
          if (enough()) return left.units === 0
        }
        return true
      } finally {
        slices.push({ windows, ms: elapsed - from })
      }
    },
  })
  return {
    clock,
    now,
    left,
    slices,
    ready: () => schedule.ready(now),
    waitingTurns: () => turns.length,
    /** Resumes the waiting turns of the schedule. */
    async turn() {
      const due = turns
      turns = []
      for (const go of due) go()
      await new Promise(setImmediate)
    },
    timers: () => timers.map(({ ms }) => ms),
    /** Fires the timers that are set. */
    fire() {
      const due = timers
      timers = []
      for (const { ms, call } of due) {
        elapsed += ms
        call()
      }
    },
    pass: (ms: number) => void (elapsed += ms),
  }
}

test('work that fits into one slice is done at once, and few codes are never prepared ahead', () => {
  const shop = workshop({ units: 4 })
  assert.equal(shop.ready(), null)
  assert.deepEqual(shop.slices, [{ windows: [W0 - 1, W0, W0 + 1], ms: SLICE_MS }])
  assert.deepEqual([shop.waitingTurns(), shop.timers()], [0, []])
})

test('longer work is done in slices, and yields to the event loop after each', async () => {
  const shop = workshop({ units: 41 })
  const wait = shop.ready()
  assert(wait !== null)
  let turns = 0
  for (; shop.left.units > 0; turns++) {
    assert.equal(shop.waitingTurns(), 1)
    await shop.turn()
  }
  await wait
  assert.equal(turns, 10)
  assert.equal(shop.slices.length, 11)
  for (const { ms } of shop.slices) assert(ms <= SLICE_MS)
  assert.equal(shop.ready(), null)
})

test('concurrent waiters share one run of slices', async () => {
  const shop = workshop({ units: 40 })
  const waits = Array.from({ length: 20 }, () => shop.ready())
  assert.equal(new Set(waits).size, 1)
  assert.deepEqual([shop.slices.length, shop.waitingTurns()], [1, 1])
  while (shop.left.units > 0) await shop.turn()
  await waits[0]
  assert.equal(shop.slices.length, 10)
})

test('if the minute ends meanwhile, the new minute is prepared', async () => {
  const shop = workshop({ units: 8 })
  const wait = shop.ready()
  shop.clock.ms += MINUTE
  await shop.turn()
  await wait
  assert.deepEqual(shop.slices.at(-1)?.windows, [W0, W0 + 1, W0 + 2])
})

test('an error rejects the wait, and the next call tries again', async () => {
  const shop = workshop({ units: 8 })
  const locked = new Error('locked')
  const wait = shop.ready()
  shop.left.error = locked
  await Promise.all([assert.rejects(Promise.resolve(wait), locked), shop.turn()])
  assert.throws(() => shop.ready(), locked)
  shop.left.error = null
  assert.equal(shop.ready(), null)
})

test('with many codes, the next window is prepared before the minute ends', () => {
  const shop = workshop({ codes: FEW + 1 })
  assert.equal(shop.ready(), null)
  assert.equal(shop.timers().length, 1)
  shop.left.units = 10
  let slices = 0
  for (; shop.left.units > 0; slices++) shop.fire()
  assert.equal(slices, 3)
  assert.deepEqual(shop.slices.at(-1)?.windows, [W0 - 1, W0, W0 + 1, W0 + 2])
  // Then the schedule is idle until the next minute.
  assert.deepEqual(shop.timers(), [MINUTE - 12_000])
  shop.clock.ms += MINUTE - 12_000
  shop.fire()
  assert.deepEqual(shop.slices.at(-1)?.windows, [W0, W0 + 1, W0 + 2, W0 + 3])
  assert.deepEqual(shop.timers(), [MINUTE])
})

test('one timer serves any number of verifications', () => {
  const shop = workshop({ codes: FEW + 1 })
  for (let i = 0; i < 10; i++) void shop.ready()
  assert.equal(shop.timers().length, 1)
})

test('a timer leaves the work to a running wait', async () => {
  const shop = workshop({ units: 40, codes: FEW + 1 })
  const wait = shop.ready()
  shop.fire()
  assert.equal(shop.slices.length, 1, 'nothing is done beside')
  assert.equal(shop.timers().length, 1, 'and not forgotten')
  while (shop.left.units > 0) await shop.turn()
  await wait
  shop.fire()
  assert.equal(shop.slices.at(-1)?.windows.length, 4)
})

test('preparation stops after five minutes without a verification, and resumes with the next', () => {
  const shop = workshop({ codes: FEW + 1 })
  void shop.ready()
  let minutes = 0
  for (; shop.timers().length > 0; minutes++) {
    assert(minutes < 10)
    shop.clock.ms += MINUTE
    shop.fire()
  }
  assert(minutes >= 5)
  const done = shop.slices.length
  shop.pass(60 * MINUTE)
  shop.clock.ms += 60 * MINUTE
  assert.equal(shop.slices.length, done)
  assert.equal(shop.ready(), null)
  assert.equal(shop.timers().length, 1)
})

test('an error in the background is returned to the next verification', () => {
  const shop = workshop({ codes: FEW + 1 })
  void shop.ready()
  shop.left.error = new Error('locked')
  shop.fire()
  assert.deepEqual(shop.timers(), [])
  assert.throws(() => shop.ready(), /locked/)
  shop.left.error = null
  void shop.ready()
  assert.equal(shop.timers().length, 1)
})
