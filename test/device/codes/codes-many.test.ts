/**
 * Tests a device with many connections.
 * They are indexed slice by slice, and every change applies meanwhile.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TestContext } from 'node:test'
import type { Pace } from '../../../src/device/codes/code-schedule.ts'
import type { Codes } from '../../../src/device/codes/codes.ts'
import { BOB, MINUTE, bench, indicesOf, numbered, slowPace } from '../bench.ts'

const connectionId = (n: number) => numbered('connection', n)

async function untilReady(codes: Codes, now: () => number): Promise<void> {
  for (let wait = codes.ready(now); wait !== null; wait = codes.ready(now)) await wait
}

describe('many', () => {
  const MANY = 700

  /** Returns a device with many connections, as after a start. */
  function started(t: TestContext, pace: Pace) {
    const all = bench(t)
    all.state.transaction(() => {
      for (let n = 0; n < MANY; n++) all.connection({ id: connectionId(n), others: [BOB] })
    })
    return { ...all, again: all.reopen({ pace }) }
  }

  it('are indexed in slices, none longer than its millisecond', async (t) => {
    const { pace, count } = slowPace(0.05)
    const { again, say, clock } = started(t, pace)
    assert.equal(count.looks, 0, 'nothing happens before somebody verifies')
    await untilReady(again.codes, () => clock.ms)
    // A slice takes twenty clock readings of 0.05 ms; the first reading begins it.
    assert(count.turns >= MANY / 20, `${count.turns} turns`)
    assert(count.most <= 22, `${count.most} looks in one slice`)
    const { turns } = count
    for (const n of [0, 350, 699])
      assert.equal(again.codes.find(indicesOf(say(connectionId(n), BOB)), clock.ms).hits.length, 1)
    assert.equal(count.turns, turns)
    assert.equal(count.timers, 1, 'the next minute will be ready')
  })

  it('changes meanwhile count at once', async (t) => {
    const changed: (() => void)[] = []
    const { pace } = slowPace(0.05, () => changed.pop()?.())
    const { again, say, clock } = started(t, pace)
    const ids = Array.from({ length: MANY }, (_, n) => connectionId(n)).toSorted()
    // Some are indexed before they change, some after.
    const [gone, renamed, left, suspended] = [0, 300, 500, MANY - 1].map((n) => ids[n]!) as [
      string,
      string,
      string,
      string,
    ]
    const added = connectionId(MANY)
    changed.push(
      () => void again.connection({ id: added }),
      () => void again.connection({ id: renamed, name: 'Renamed' }),
      () => void again.connection({ id: suspended, hold: 'rotation_pending' }),
      () => {
        again.codes.remove(gone)
        again.state.connections.delete(gone)
      },
      () => void (clock.ms += MINUTE),
      () => {
        again.codes.remove(left)
        again.state.connections.delete(left)
      },
    )
    await untilReady(again.codes, () => clock.ms)
    assert.equal(changed.length, 0)
    const find = (id: string) => again.codes.find(indicesOf(say(id, BOB)), clock.ms)
    for (const [id, hits] of [
      [gone, 0],
      [left, 0],
      [suspended, 0],
      [renamed, 1],
      [added, 1],
    ] as const)
      assert.equal(find(id).hits.length, hits, id)
    assert.equal(find(renamed).hits[0]?.match.connection_name, 'Renamed')
    const { checked, unchecked, lacks } = find(gone)
    assert.deepEqual([checked, unchecked, lacks], [MANY - 2, 1, ['rotation_pending']])
    again.connection({ id: suspended })
    assert.deepEqual(find(suspended).lacks, [], 'it was listed after it was held, and counted once')
  })

  it('a look-up that did not wait is right, too', (t) => {
    const { pace, count } = slowPace(0.05)
    const { again, say, clock } = started(t, pace)
    const { hits, checked } = again.codes.find(indicesOf(say(connectionId(5), BOB)), clock.ms)
    assert.deepEqual([hits.length, checked, count.turns], [1, MANY, 0])
  })

  it('few connections cause no background work, before and after a verification', async (t) => {
    const { pace, count } = slowPace(0)
    const all = bench(t, { pace })
    all.state.transaction(() => {
      for (let n = 0; n < 200; n++) all.connection({ id: connectionId(n) })
    })
    await untilReady(all.codes, () => all.clock.ms)
    all.codes.find(indicesOf(all.say(connectionId(7), BOB)), all.clock.ms)
    assert.deepEqual([count.turns, count.timers], [0, 0])
  })
})
