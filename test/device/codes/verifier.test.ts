/**
 * Tests the speaker of words by the rules of protocol section 2.
 * The words come from an independent computation.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ID_PREFIX, formatId } from '../../../src/crypto/encoding/id.ts'
import {
  BOB,
  CAROL,
  CONNECTION,
  GUEST,
  ME,
  MINUTE,
  T0,
  W0,
  WRONG,
  bench,
  keyOf,
  nameOf,
} from '../bench.ts'

describe('directional', () => {
  it('words of others verify, own words are an echo, and a stranger’s match nothing', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection({ others: [BOB, CAROL] })
    for (const [speaker, verified, echo, who] of [
      [BOB, true, false, 'other'],
      [ME, false, true, 'self'],
      [CAROL, true, false, 'other'],
    ] as const) {
      const answer = await verifier.verify(say(CONNECTION, speaker), null)
      assert.deepEqual([answer.verified, answer.echo, answer.replayed], [verified, echo, false])
      assert.deepEqual(answer.matches, [
        {
          kind: 'connection',
          speaker: who,
          connection_id: CONNECTION,
          connection_name: 'Bank',
          member_id: speaker,
          display_name: nameOf(speaker),
          name_source: who === 'self' ? 'own' : 'given',
          name_marks: [],
          window: W0,
          conclusive: true,
        },
      ])
    }
    const stranger = await verifier.verify(say(CONNECTION, GUEST), null)
    assert.deepEqual([stranger.verified, stranger.echo, stranger.matches], [false, false, []])
  })

  it('of a guest code, the guest’s words verify, the owner’s are an echo, and the summary names the guest', async (t) => {
    const { verifier, guest, say, codes, clock } = bench(t)
    guest()
    assert.equal(codes.own(GUEST, clock.ms)?.words, say(GUEST, ME))
    const verified = await verifier.verify(say(GUEST, GUEST), 'tok')
    assert.deepEqual([verified.verified, verified.matches[0]?.guest_code_id], [true, GUEST])
    assert.equal(verified.summary, 'Verified: the words of guest "Ann".')
    const echo = await verifier.verify(say(GUEST, ME), 'tok')
    assert.deepEqual([echo.verified, echo.echo], [false, true])
    assert.equal(echo.summary, 'Your own words for this guest, repeated back: no proof.')
    assert.equal(
      (await verifier.verify(say(GUEST, ME), 'tok')).replayed,
      false,
      'an echo uses nothing up',
    )
  })

  it('match, log and summary name the external member of a guest code, after a restart too', async (t) => {
    const first = bench(t)
    const externalMember = { id: `ext_0${'3'.repeat(25)}`, display_name: 'Maria Muster' }
    const other = first.guest({ id: `gst_0${'4'.repeat(25)}`, label: 'Ben' })
    first.guest({ label: 'Mum', externalMember })
    for (const [{ verifier }, window] of [
      [first, W0],
      [first.reopen(), W0 + 1],
    ] as const) {
      const verified = await verifier.verify(first.say(GUEST, GUEST, window), null)
      assert.equal(verified.summary, 'Verified: the words of guest "Mum" (Maria Muster).')
      assert.deepEqual(verified.matches[0]?.external_member, externalMember)
      const [logged] = first.state.verifications.page(1, null)
      const { conclusive: _, name_source: __, name_marks: ___, ...match } = verified.matches[0]!
      assert.deepEqual(logged?.matches, [match])
    }
    const echo = await first.verifier.verify(first.say(GUEST, ME), null)
    assert.deepEqual(echo.matches[0]?.external_member, externalMember)
    const without = await first.verifier.verify(first.say(other, other), null)
    assert.equal(without.summary, 'Verified: the words of guest "Ben".')
    assert.equal(without.matches[0]?.external_member, null)
  })

  it('a label equal to the name of the external member is not repeated', async (t) => {
    const { verifier, guest, say } = bench(t)
    const display_name = 'Maria Muster'
    guest({
      label: display_name,
      externalMember: { id: `ext_0${'3'.repeat(25)}`, display_name },
    })
    const { summary } = await verifier.verify(say(GUEST, GUEST), null)
    assert.equal(summary, 'Verified: the words of guest "Maria Muster".')
  })

  it('own words change with the minute', (t) => {
    const { connection, say, codes } = bench(t)
    connection()
    for (const at of [T0, T0 + 47_999, T0 + 48_000, T0 + 100 * MINUTE, T0]) {
      const window = Math.floor(at / MINUTE)
      assert.deepEqual(codes.own(CONNECTION, at), {
        words: say(CONNECTION, ME, window),
        period_s: 60,
        valid_from: new Date(window * MINUTE).toISOString(),
        valid_until: new Date((window + 1) * MINUTE).toISOString(),
      })
    }
  })

  it('words of another epoch do not verify', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection({ epoch: 1 })
    const old = say(CONNECTION, BOB)
    connection({ epoch: 2 })
    const { verified, matches } = await verifier.verify(old, null)
    assert.deepEqual([verified, matches], [false, []])
    assert.equal((await verifier.verify(say(CONNECTION, BOB), null)).verified, true)
  })
})

describe('windows', () => {
  for (const [drift, verified] of [
    [-2, false],
    [-1, true],
    [0, true],
    [1, true],
    [2, false],
  ] as const)
    it(`words of the window ${drift >= 0 ? '+' : ''}${drift}: ${verified ? 'verify' : 'match nothing'}`, async (t) => {
      const { verifier, connection, say } = bench(t)
      connection()
      const answer = await verifier.verify(say(CONNECTION, BOB, W0 + drift), null)
      assert.equal(answer.verified, verified)
      assert.equal(answer.conclusive, true)
      assert.deepEqual(
        answer.matches.map(({ window }) => window),
        verified ? [W0 + drift] : [],
      )
    })

  it('windows are used up separately, and a later window does not free an earlier one', async (t) => {
    const { verifier, connection, say, clock } = bench(t)
    connection()
    const verify = (window: number) => verifier.verify(say(CONNECTION, BOB, window), null)
    for (const window of [W0, W0 - 1, W0 + 1]) assert.equal((await verify(window)).verified, true)
    for (const window of [W0, W0 - 1, W0 + 1]) assert.equal((await verify(window)).replayed, true)
    clock.ms += MINUTE
    const later = await Promise.all([W0, W0 + 1, W0 + 2].map(verify))
    assert.deepEqual(
      later.map(({ verified }) => verified),
      [false, false, true],
    )
  })

  it('an expired guest code has no words and verifies nothing', async (t) => {
    const { verifier, guest, say, clock } = bench(t)
    guest({ expiresAt: T0 + 5000 })
    clock.ms += 5000
    const { verified, checked, reasons } = await verifier.verify(say(GUEST, GUEST), null)
    assert.deepEqual([verified, checked, reasons], [false, 0, ['nothing_cached']])
  })
})

describe('a repeated use', () => {
  it('is reported with the time of the first use, after a restart too', async (t) => {
    const first = bench(t)
    first.connection()
    const words = first.say(CONNECTION, BOB)
    const at = (await first.verifier.verify(words, null)).checked_at
    first.clock.ms += 70_000
    for (const { verifier } of [first, first.reopen()]) {
      const { verified, replayed, first_verified_at, conclusive } = await verifier.verify(
        words,
        null,
      )
      assert.deepEqual([verified, replayed, first_verified_at, conclusive], [false, true, at, true])
    }
  })

  it('is counted for each speaker', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection({ others: [BOB, CAROL] })
    assert.equal((await verifier.verify(say(CONNECTION, BOB), null)).verified, true)
    assert.equal((await verifier.verify(say(CONNECTION, CAROL), null)).verified, true)
  })
})

describe('a clock that goes back', () => {
  for (const [name, back, uncertain] of [
    ['one minute, within the drift', 1, false],
    ['two minutes', 2, true],
    ['a day', 24 * 60, true],
  ] as const)
    it(`${name}: ${uncertain ? 'clock_uncertain, and nothing verifies' : 'no effect'}`, async (t) => {
      const { verifier, connection, say, clock } = bench(t)
      connection()
      assert.equal((await verifier.verify(say(CONNECTION, BOB), null)).verified, true)
      clock.ms -= back * MINUTE
      const answer = await verifier.verify(say(CONNECTION, BOB), null)
      assert.equal(answer.verified, !uncertain)
      assert.equal(answer.conclusive, !uncertain)
      assert.deepEqual(answer.reasons, uncertain ? ['clock_uncertain'] : [])
      if (uncertain) assert.match(answer.summary, /the clock cannot be trusted: no proof/)
    })

  // Movements of a clock, in minutes from W0. At each stop the test tries the words of W0 and
  // some wrong ones.
  for (const stops of [
    [0, 1, 0, -1, 0, 1],
    [0, 10, 0],
    [0, 1, 2, 3, 4, 5, 0, 1],
    [0, 5, -1, 0],
    [-1, 1, 500_000, 0],
    [0, -5, 0],
    [1, -100, 1, 0],
  ])
    it(`never makes words verify twice: ${stops.join(', ')}`, async (t) => {
      const all = bench(t)
      all.connection()
      const words = all.say(CONNECTION, BOB, W0)
      let verified = 0
      for (const stop of stops) {
        all.clock.ms = T0 + stop * MINUTE
        all.freshness.lastSync = all.clock.ms
        for (const { verifier } of [all, all.reopen()]) {
          await verifier.verify(WRONG, null)
          if ((await verifier.verify(words, null)).verified) verified++
        }
      }
      assert.equal(verified, 1)
    })
})

describe('several matches', () => {
  // Found by searching 2^18 keys on each side for the same 36 bits in the minute W0.
  const guests = [
    {
      id: formatId(ID_PREFIX.guest, new Uint8Array(16).fill(1)),
      label: 'Ann',
      k: keyOf('a246850'),
    },
    { id: formatId(ID_PREFIX.guest, new Uint8Array(16).fill(2)), label: 'Ben', k: keyOf('b95377') },
  ] as const

  it('are all returned, and each is used up', async (t) => {
    const { verifier, guest, say } = bench(t)
    const [ann, ben] = guests.map((one) => guest(one)) as [string, string]
    const words = say(ann, ann)
    assert.equal(words, say(ben, ben), 'the two collide')
    const first = await verifier.verify(words, null)
    assert.deepEqual(
      first.matches.map((match) => match.guest_code_id),
      [ann, ben],
    )
    assert.equal(first.verified, true)
    assert.match(first.summary, /guest "Ann", guest "Ben"/)
    const again = await verifier.verify(words, null)
    assert.deepEqual([again.verified, again.replayed, again.matches.length], [false, true, 2])
  })

  it('of which one is used: the fresh one verifies, once', async (t) => {
    const { verifier, guest, say } = bench(t)
    const [ann, ben] = [guests[0].id, guests[1].id]
    guest(guests[0])
    assert.equal((await verifier.verify(say(ann, ann), null)).verified, true)
    guest(guests[1])
    const second = await verifier.verify(say(ben, ben), null)
    assert.deepEqual([second.verified, second.replayed], [true, false])
    assert.equal((await verifier.verify(say(ben, ben), null)).replayed, true)
  })
})
