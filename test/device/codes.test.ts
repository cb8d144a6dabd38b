/** What a device says and hears, by its state: nothing else is true, and every change counts at once. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TestContext } from 'node:test'
import type { Pace } from '../../src/device/code-schedule.ts'
import type { Codes } from '../../src/device/codes.ts'
import { AppError } from '../../src/errors.ts'
import {
  BOB,
  CAROL,
  CONNECTION,
  GUEST,
  ME,
  MINUTE,
  T0,
  bench,
  indicesOf,
  nameOf,
  numbered,
  slowPace,
} from './bench.ts'

const connectionId = (n: number) => numbered('connection', n)

async function untilReady(codes: Codes, now: () => number): Promise<void> {
  for (let wait = codes.ready(now); wait !== null; wait = codes.ready(now)) await wait
}

describe('a connection that is held', () => {
  for (const hold of ['rotation_pending', 'roster_forked'] as const)
    for (const secret of ['here', 'missing'] as const)
      it(`${hold}, its secret ${secret}: nothing is said, nothing matches, and that is why`, (t) => {
        const { codes, vault, connection, guest, say, clock } = bench(t)
        guest()
        connection()
        const [own, theirs] = [say(CONNECTION, ME), say(CONNECTION, BOB)]
        assert.equal(codes.own(CONNECTION, clock.ms)?.words, own)
        assert.equal(codes.find(indicesOf(theirs), clock.ms).hits.length, 1)
        connection({ hold })
        if (secret === 'missing') vault.delete(CONNECTION)
        assert.equal(codes.hold(CONNECTION), hold)
        assert.deepEqual(
          [codes.own(CONNECTION, clock.ms), codes.toSay(CONNECTION, clock.ms)],
          [null, null],
        )
        for (const words of [own, theirs])
          assert.deepEqual(codes.find(indicesOf(words), clock.ms), {
            hits: [],
            checked: 1,
            unchecked: 1,
            lacks: [hold],
          })
        connection()
        assert.equal(codes.hold(CONNECTION), null)
        assert.equal(codes.toSay(CONNECTION, clock.ms)?.words, own)
        const { hits, unchecked } = codes.find(indicesOf(theirs), clock.ms)
        assert.deepEqual([hits.length, unchecked], [1, 0])
      })

  it('what is not here is not held', (t) => {
    assert.equal(bench(t).codes.hold(CONNECTION), null)
  })
})

describe('changes', () => {
  it('a secret that comes later, one that is replaced, another name, another member, an end', (t) => {
    const { codes, vault, state, connection, say, clock } = bench(t)
    const find = (words: string) => codes.find(indicesOf(words), clock.ms)
    connection()
    vault.delete(CONNECTION)
    const words = say(CONNECTION, BOB)
    assert.deepEqual(find(words), { hits: [], checked: 0, unchecked: 1, lacks: ['secret_missing'] })
    assert.equal(codes.own(CONNECTION, clock.ms), null)

    connection({ name: 'Bank' })
    assert.equal(find(words).hits[0]?.match.connection_name, 'Bank')
    connection({ name: 'The bank', others: [BOB, CAROL] })
    assert.equal(find(words).hits[0]?.match.connection_name, 'The bank')
    assert.equal(find(say(CONNECTION, CAROL)).hits[0]?.match.display_name, nameOf(CAROL))
    connection({ others: [CAROL] })
    assert.deepEqual(find(words).hits, [])

    connection({ epoch: 2 })
    assert.deepEqual(find(words).hits, [])
    assert.equal(find(say(CONNECTION, BOB)).hits[0]?.use.epoch, 2)
    assert.equal(codes.own(CONNECTION, clock.ms)?.words, say(CONNECTION, ME))

    codes.remove(CONNECTION)
    state.connections.delete(CONNECTION)
    assert.deepEqual(find(say(CONNECTION, BOB)), { hits: [], checked: 0, unchecked: 0, lacks: [] })
    assert.equal(codes.has(CONNECTION), false)
  })

  it('one that was taken back with its transaction did not happen', (t) => {
    const { codes, state, connection, say, clock } = bench(t)
    connection()
    assert.throws(() =>
      state.transaction(() => {
        connection({ hold: 'rotation_pending' })
        throw new Error('full')
      }),
    )
    assert.equal(codes.find(indicesOf(say(CONNECTION, BOB)), clock.ms).hits.length, 1)
  })

  it('the guest code that runs out, also for a clock that goes back, and the one that is revoked', (t) => {
    const { codes, state, guest, say, clock } = bench(t)
    guest({ expiresAt: T0 + 5000 })
    const words = say(GUEST, GUEST)
    const counts = () => {
      const { hits, checked } = codes.find(indicesOf(words), clock.ms)
      return [hits.length, checked]
    }
    assert.deepEqual(counts(), [1, 1])
    clock.ms += 5000
    assert.deepEqual(counts(), [0, 0])
    clock.ms -= 5000
    assert.deepEqual(counts(), [1, 1])
    state.guests.setState(GUEST, 'revoked')
    codes.putGuest({ id: GUEST })
    assert.deepEqual([counts(), codes.has(GUEST)], [[0, 0], false])
  })

  it('own words are the same object while their minute lasts', (t) => {
    const { codes, connection, clock } = bench(t)
    connection()
    const said = codes.toSay(CONNECTION, clock.ms)
    assert.equal(codes.toSay(CONNECTION, clock.ms + 47_999), said)
    assert.notEqual(codes.toSay(CONNECTION, clock.ms + 48_000), said)
    assert.equal(codes.toSay(GUEST, clock.ms), null)
  })

  it('a keychain that is locked is told, and no harm is done', (t) => {
    const all = bench(t)
    all.connection()
    let isLocked = true
    const { secrets } = all.state
    const locked = all.reopen({
      state: {
        ...all.state,
        secrets: {
          ...secrets,
          get(id) {
            if (isLocked) throw new AppError('keychain_locked', 'locked')
            return secrets.get(id)
          },
        },
      },
    })
    const indices = indicesOf(all.say(CONNECTION, BOB))
    for (let i = 0; i < 2; i++)
      assert.throws(() => locked.codes.find(indices, T0), { code: 'keychain_locked' })
    isLocked = false
    assert.equal(locked.codes.find(indices, T0).hits.length, 1)
  })
})

describe('many', () => {
  const MANY = 700

  /** A device with many connections, as after a start. */
  function started(t: TestContext, pace: Pace) {
    const all = bench(t)
    all.state.transaction(() => {
      for (let n = 0; n < MANY; n++) all.connection({ id: connectionId(n), others: [BOB] })
    })
    return { ...all, again: all.reopen({ pace }) }
  }

  it('are taken in slice by slice: no slice outlasts its millisecond', async (t) => {
    const { pace, count } = slowPace(0.05)
    const { again, say, clock } = started(t, pace)
    assert.equal(count.looks, 0, 'nothing happens before somebody verifies')
    await untilReady(again.codes, () => clock.ms)
    // Twenty looks of 0.05 ms are a slice; the first look begins it.
    assert(count.turns >= MANY / 20, `${count.turns} turns`)
    assert(count.most <= 22, `${count.most} looks in one slice`)
    const { turns } = count
    for (const n of [0, 350, 699])
      assert.equal(again.codes.find(indicesOf(say(connectionId(n), BOB)), clock.ms).hits.length, 1)
    assert.equal(count.turns, turns)
    assert.equal(count.timers, 1, 'the next minute will be ready')
  })

  it('what changes meanwhile counts at once', async (t) => {
    const changed: (() => void)[] = []
    const { pace } = slowPace(0.05, () => changed.pop()?.())
    const { again, say, clock } = started(t, pace)
    const [gone, held, renamed, left, added] = [0, 100, 650, 699, MANY].map(connectionId) as [
      string,
      string,
      string,
      string,
      string,
    ]
    changed.push(
      () => void again.connection({ id: added }),
      () => void again.connection({ id: renamed, name: 'Renamed' }),
      () => void again.connection({ id: held, hold: 'rotation_pending' }),
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
      [held, 0],
      [renamed, 1],
      [added, 1],
    ] as const)
      assert.equal(find(id).hits.length, hits, id)
    assert.equal(find(renamed).hits[0]?.match.connection_name, 'Renamed')
    const { checked, unchecked, lacks } = find(gone)
    assert.deepEqual([checked, unchecked, lacks], [MANY - 2, 1, ['rotation_pending']])
  })

  it('a look-up that did not wait is right all the same', (t) => {
    const { pace, count } = slowPace(0.05)
    const { again, say, clock } = started(t, pace)
    const { hits, checked } = again.codes.find(indicesOf(say(connectionId(5), BOB)), clock.ms)
    assert.deepEqual([hits.length, checked, count.turns], [1, MANY, 0])
  })

  it('few are no work while nobody verifies, nor after', async (t) => {
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
