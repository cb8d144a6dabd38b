/** The schedule of a daemon’s own syncs. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newSyncSchedule, pauseAfter } from '../../src/daemon/schedule.ts'

const MINUTE = 60_000

describe('the pause between runs', () => {
  for (const [failures, minutes] of [
    [0, 15],
    [1, 1],
    [2, 2],
    [3, 4],
    [4, 8],
    [5, 15],
    [6, 15],
    [60, 15],
    [2000, 15],
  ] as const)
    it(`after ${failures} failures: ${minutes} minutes, a tenth more or less`, () => {
      for (const [random, factor] of [
        [0, 0.9],
        [0.5, 1],
        [1, 1.1],
      ] as const)
        assert.equal(
          Math.round(pauseAfter({ failures, followed: Infinity, hasHints: false }, random)),
          Math.round(minutes * MINUTE * factor),
        )
    })
})

describe('the pause after an operation that another device answers', () => {
  it('doubles from two seconds to a quarter of an hour, unless the last run failed', () => {
    const seconds = (failures: number, followed: number) =>
      Math.round(pauseAfter({ failures, followed, hasHints: false }, 0.5) / 1000)
    assert.deepEqual(
      Array.from({ length: 11 }, (_, followed) => seconds(0, followed)),
      [2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900],
    )
    assert.equal(seconds(1, 0), 60)
  })
})

/** Creates a schedule with a clock that the test controls. */
function bench({ hasHints = false } = {}) {
  const clock = { ms: 0 }
  const waiting: { ms: number; act: () => void }[] = []
  const turns: { trigger: string; end: (good: boolean) => void }[] = []
  const schedule = newSyncSchedule(
    (trigger) => {
      const { promise, resolve } = Promise.withResolvers<boolean>()
      turns.push({ trigger, end: resolve })
      return promise
    },
    () => hasHints,
    {
      now: () => clock.ms,
      random: () => 0.5,
      after: (ms, act) => {
        const turn = { ms, act }
        waiting.push(turn)
        return () => {
          if (waiting.includes(turn)) waiting.splice(waiting.indexOf(turn), 1)
        }
      },
    },
  )
  const come = () => waiting.shift()?.act()
  /** Ends the current run and returns the pauses that are planned then. */
  async function end(good: boolean) {
    turns.at(-1)?.end(good)
    await new Promise(setImmediate)
    return waiting.map(({ ms }) => ms)
  }
  return { schedule, clock, waiting, turns, come, end }
}

describe('the schedule', () => {
  it('has the time of the next run, except while one takes place and after the end', async () => {
    const { schedule, clock, come, end } = bench()
    assert.equal(schedule.nextAt(), null)
    clock.ms = 1000
    schedule.start()
    assert.equal(schedule.nextAt(), 1100)
    come()
    assert.equal(schedule.nextAt(), null)
    await end(true)
    assert.equal(schedule.nextAt(), 1000 + 15 * MINUTE)
    schedule.stop()
    assert.equal(schedule.nextAt(), null)
  })

  it('begins soon, repeats every quarter of an hour, and sooner after a failure', async () => {
    const { schedule, waiting, turns, come, end } = bench()
    assert.deepEqual(waiting, [])
    schedule.start()
    assert.deepEqual(
      waiting.map(({ ms }) => ms),
      [100],
    )
    const planned: number[][] = []
    for (const good of [true, false, false, true]) {
      come()
      planned.push(await end(good))
    }
    assert.deepEqual(planned, [[15 * MINUTE], [MINUTE], [2 * MINUTE], [15 * MINUTE]])
    assert.deepEqual(
      turns.map(({ trigger }) => trigger),
      ['start', 'timer', 'timer', 'timer'],
    )
  })

  it('does not wait for the next run when a user signs in, also during a run', async () => {
    const { schedule, waiting, come, end } = bench()
    schedule.start()
    come()
    assert.deepEqual(await end(true), [15 * MINUTE])
    schedule.soon('request')
    assert.deepEqual(
      waiting.map(({ ms }) => ms),
      [100],
    )
    come()
    schedule.soon('request')
    assert.deepEqual(await end(true), [100])
  })

  it('after an operation it looks for the answer less and less often', async () => {
    const { schedule, turns, come, end } = bench()
    schedule.start()
    come()
    assert.deepEqual(await end(true), [15 * MINUTE])
    schedule.soon('request')
    const planned: number[][] = []
    for (let i = 0; i < 3; i++) {
      come()
      planned.push(await end(true))
    }
    assert.deepEqual(planned, [[2000], [4000], [8000]])
    schedule.soon('request')
    come()
    assert.deepEqual(await end(true), [2000], 'another act begins anew')
    assert.deepEqual(
      turns.map(({ trigger }) => trigger),
      ['start', 'request', 'timer', 'timer', 'request'],
    )
  })

  it('many operations at once cause one run, which none of them delays', async () => {
    const { schedule, waiting, turns, come, end } = bench()
    schedule.start()
    come()
    await end(true)
    schedule.soon('request')
    const [planned] = waiting
    for (let i = 0; i < 100; i++) schedule.soon('request')
    assert.deepEqual(waiting, [planned])
    come()
    for (let i = 0; i < 100; i++) schedule.soon('request')
    assert.deepEqual(await end(true), [100])
    come()
    assert.equal(turns.length, 3)
  })

  it('keeps the pause after failures, unless the user acts', async () => {
    const { schedule, waiting, turns, come, end } = bench()
    schedule.start()
    come()
    assert.deepEqual(await end(false), [MINUTE])
    for (let i = 0; i < 10; i++) schedule.soon('timer')
    assert.deepEqual(
      waiting.map(({ ms }) => ms),
      [MINUTE],
    )
    come()
    assert.deepEqual(await end(false), [2 * MINUTE])
    schedule.soon('request')
    assert.deepEqual(
      waiting.map(({ ms }) => ms),
      [100],
    )
    come()
    assert.deepEqual(await end(true), [2000])
    schedule.soon('timer')
    come()
    assert.equal(turns.at(-1)?.trigger, 'timer')
  })

  it('plans nothing before its start and after its end', async () => {
    const { schedule, waiting, come, end } = bench()
    schedule.soon('request')
    assert.deepEqual(waiting, [])
    schedule.start()
    come()
    schedule.stop()
    assert.deepEqual(await end(false), [])
    schedule.soon('request')
    assert.deepEqual(waiting, [])
  })
})

describe('hints', () => {
  /** Returns a schedule after its first run. */
  async function begun() {
    const made = bench({ hasHints: true })
    made.schedule.start()
    made.come()
    assert.deepEqual(await made.end(true), [45 * MINUTE], 'hints replace two of three runs')
    const planned = () => made.waiting.map(({ ms }) => ms)
    return { ...made, planned }
  }

  it('those within 50 ms are one run', async () => {
    const { schedule, planned, turns, come, end } = await begun()
    for (let i = 0; i < 100; i++) schedule.hinted()
    assert.deepEqual(planned(), [50])
    come()
    assert.deepEqual(await end(true), [45 * MINUTE])
    assert.deepEqual(
      turns.map(({ trigger }) => trigger),
      ['start', 'hint'],
    )
  })

  it('one that arrives during a run causes another one', async () => {
    const { schedule, turns, come, end } = await begun()
    schedule.hinted()
    come()
    schedule.hinted()
    assert.deepEqual(await end(true), [50])
    come()
    assert.equal(turns.length, 3)
  })

  it('of ten thousand in ten seconds, the runs are bounded', async () => {
    const { schedule, clock, waiting, turns, come, end } = await begun()
    const dueAt = new WeakMap<object, number>()
    for (; clock.ms < 10_000; clock.ms++) {
      schedule.hinted()
      const planned = waiting[0]!
      const due = dueAt.get(planned) ?? clock.ms + planned.ms
      dueAt.set(planned, due)
      if (due > clock.ms) continue
      come()
      await end(true)
    }
    assert(turns.length <= 1 + 60 + 10_000 / 1_000, `${turns.length} runs`)
    assert(turns.length > 60, `${turns.length} runs`)
  })

  it('a user who acts does not wait for the time of the next one', async () => {
    const { schedule, planned, come, end } = await begun()
    for (let i = 0; i < 60; i++) {
      schedule.hinted()
      come()
      await end(true)
    }
    schedule.hinted()
    assert.deepEqual(planned(), [1_000])
    schedule.soon('request')
    assert.deepEqual(planned(), [100])
    schedule.hinted()
    assert.deepEqual(planned(), [100])
  })

  it('after a failure, a run follows a hint at once, and a failure the usual pause', async () => {
    const { schedule, planned, come, end } = await begun()
    schedule.hinted()
    come()
    assert.deepEqual(await end(false), [MINUTE])
    schedule.hinted()
    assert.deepEqual(planned(), [50])
  })
})
