/**
 * Tests the words that a device shows and accepts, by its state.
 * No others are accepted, and every change applies at once.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newCodeIndex, newIntake } from '../../../src/device/codes/code-index.ts'
import { AppError } from '../../../src/errors.ts'
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
} from '../bench.ts'

const connectionId = (n: number) => numbered('connection', n)

describe('a suspended connection', () => {
  for (const hold of ['rotation_pending', 'roster_forked'] as const)
    for (const secret of ['here', 'missing'] as const)
      it(`${hold}, secret ${secret}: it has no own words and matches none, for that reason`, (t) => {
        const { codes, vault, connection, guest, say, clock } = bench(t)
        guest()
        connection()
        const [own, theirs] = [say(CONNECTION, ME), say(CONNECTION, BOB)]
        assert.equal(codes.own(CONNECTION, clock.ms)?.words, own)
        assert.equal(codes.find(indicesOf(theirs), clock.ms).hits.length, 1)
        connection({ hold })
        if (secret === 'missing') vault.delete(CONNECTION)
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
        assert.equal(codes.toSay(CONNECTION, clock.ms)?.words, own)
        const { hits, unchecked } = codes.find(indicesOf(theirs), clock.ms)
        assert.deepEqual([hits.length, unchecked], [1, 0])
      })
})

describe('changes', () => {
  it('a later or replaced secret, a new name, a new member, the end of the connection', (t) => {
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
    assert.deepEqual([codes.has(CONNECTION), codes.own(CONNECTION, clock.ms)], [false, null])
  })

  it('a change that was rolled back with its transaction', (t) => {
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

  it('a guest code that expires, also with a clock that goes back, and one that is revoked', (t) => {
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
    state.guests.end(GUEST, 'revoked')
    codes.putGuest({ id: GUEST })
    assert.deepEqual([counts(), codes.has(GUEST)], [[0, 0], false])
    clock.ms += 5000
    assert.deepEqual(counts(), [0, 0])
  })

  it('no secret is read before the first look-up, and each secret once for all look-ups', (t) => {
    const first = bench(t)
    let opened = 0
    const secrets = {
      ...first.state.secrets,
      get(id: string) {
        opened++
        return first.state.secrets.get(id)
      },
    }
    first.guest()
    const { codes, connection, clock } = first.reopen({ state: { ...first.state, secrets } })
    for (let n = 0; n < 5; n++) connection({ id: connectionId(n) })
    opened = 0
    for (let minute = 0; minute < 3; minute++) {
      assert.equal(codes.find([1, 2, 3], clock.ms).checked, 6)
      clock.ms += MINUTE
    }
    assert.equal(opened, 6)
  })

  it('own words are the same object during their minute', (t) => {
    const { codes, connection, clock } = bench(t)
    connection()
    const own = codes.toSay(CONNECTION, clock.ms)
    assert.equal(codes.toSay(CONNECTION, clock.ms + 47_999), own)
    assert.notEqual(codes.toSay(CONNECTION, clock.ms + 48_000), own)
    assert.equal(codes.toSay(GUEST, clock.ms), null)
  })

  it('a locked keychain is reported, and a later look-up works', (t) => {
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

it('ended connections are removed from the index at once, and read again before the next look-up', (t) => {
  const { state, vault, connection } = bench(t)
  connection()
  const index = newCodeIndex()
  const intake = newIntake({ state, vault, account: ME, index })
  intake.work(() => false)
  assert.equal(index.size(), 1)
  intake.changed(CONNECTION)
  assert.equal(index.size(), 0)
  intake.work(() => false)
  assert.equal(index.size(), 1)
})
