/** Tests whether "not verified" is conclusive: what could not be checked, and why. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BOB, CONNECTION, DAY, HOUR, ME, T0, WRONG, bench, numbered } from '../bench.ts'

describe('conclusive', () => {
  const cases: [name: string, set: (b: ReturnType<typeof bench>) => void, reasons: string[]][] = [
    ['nothing to report', ({ connection }) => void connection(), []],
    ['a guest alone is enough', ({ guest }) => void guest(), []],
    ['no connections and guests', () => undefined, ['nothing_cached']],
    [
      'a secret is on another device',
      ({ connection, vault }) => vault.delete(connection()),
      ['secret_missing'],
    ],
    [
      'one secret of two missing',
      ({ connection, guest, vault }) => {
        guest()
        vault.delete(connection())
      },
      ['secret_missing'],
    ],
    ...(['rotation_pending', 'roster_forked'] as const).map((hold): (typeof cases)[number] => [
      'one suspended connection, and one active one',
      ({ connection, guest }) => {
        guest()
        connection({ hold })
      },
      [hold],
    ]),
    [
      'a suspended connection without its secret',
      ({ connection, vault }) => vault.delete(connection({ hold: 'rotation_pending' })),
      ['rotation_pending'],
    ],
    [
      'the offset is unknown',
      ({ connection, freshness }) => {
        connection()
        freshness.offset = null
      },
      ['clock_uncertain'],
    ],
    ...([30_000, -30_000, 30_001, -30_001] as const).map((offset): (typeof cases)[number] => [
      `the offset is ${offset} ms`,
      ({ connection, freshness }) => {
        connection()
        freshness.offset = offset
      },
      Math.abs(offset) > 30_000 ? ['clock_uncertain'] : [],
    ]),
    ...(['ahead', 'behind', 'unmeasured'] as const).map((clock): (typeof cases)[number] => [
      `the clock is ${clock}`,
      ({ connection, freshness }) => {
        connection()
        freshness.clock = clock
      },
      ['clock_uncertain'],
    ]),
    [
      'no sync yet',
      ({ connection, freshness }) => {
        connection()
        freshness.lastSync = null
      },
      ['sync_stale'],
    ],
    ...([0, 1] as const).map((over): (typeof cases)[number] => [
      `the last sync is an hour and ${over} ms old, and no new one succeeds`,
      ({ connection, freshness }) => {
        connection()
        freshness.lastSync = T0 - HOUR - over
      },
      over === 0 ? [] : ['sync_stale'],
    ]),
    [
      'everything at once',
      ({ freshness }) => {
        freshness.offset = null
        freshness.lastSync = null
      },
      ['nothing_cached', 'clock_uncertain', 'sync_stale'],
    ],
  ]
  for (const [name, set, reasons] of cases)
    it(`${name}: ${reasons.join(', ') || 'conclusive'}`, async (t) => {
      const all = bench(t)
      set(all)
      const answer = await all.verifier.verify(WRONG, null)
      assert.deepEqual([answer.verified, answer.reasons], [false, reasons])
      assert.equal(answer.conclusive, reasons.length === 0)
      for (const reason of reasons) assert(answer.summary.includes(reason), answer.summary)
      assert.equal(answer.summary.startsWith('Not verified'), reasons.length === 0)
    })

  it('a sync during the verification makes the answer conclusive', async (t) => {
    const { verifier, connection, freshness } = bench(t)
    connection()
    freshness.lastSync = T0 - HOUR - 1
    freshness.refresh = () => (freshness.lastSync = T0)
    const { verified, conclusive, reasons } = await verifier.verify(WRONG, null)
    assert.deepEqual([verified, conclusive, reasons], [false, true, []])
  })

  it('matching words do not wait for a sync', async (t) => {
    const { verifier, connection, say, freshness } = bench(t)
    connection()
    freshness.lastSync = T0 - 7 * DAY
    freshness.refresh = () => assert.fail('a sync was made')
    const { verified, conclusive } = await verifier.verify(say(CONNECTION, BOB), null)
    assert.deepEqual([verified, conclusive], [true, true])
  })

  it('words of a suspended connection do not verify, neither a member’s nor the own, until it is active again', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection({ hold: 'roster_forked' })
    for (const speaker of [BOB, ME]) {
      const { verified, echo, conclusive, matches, checked, unchecked } = await verifier.verify(
        say(CONNECTION, speaker),
        null,
      )
      assert.deepEqual(
        { verified, echo, conclusive, matches, checked, unchecked },
        { verified: false, echo: false, conclusive: false, matches: [], checked: 0, unchecked: 1 },
      )
    }
    connection()
    assert.equal((await verifier.verify(say(CONNECTION, BOB), null)).verified, true)
  })

  const others: [name: string, damage: (b: ReturnType<typeof bench>) => void][] = [
    ['a missing secret', ({ guest, vault }) => vault.delete(guest())],
    ...(['rotation_pending', 'roster_forked'] as const).map((hold): (typeof others)[number] => [
      hold,
      ({ connection }) => void connection({ id: numbered('connection', 1), hold }),
    ]),
  ]
  for (const [name, damage] of others)
    it(`${name} of another connection does not make a verified match inconclusive`, async (t) => {
      const b = bench(t)
      b.connection()
      damage(b)
      const answer = await b.verifier.verify(b.say(CONNECTION, BOB), null)
      assert.deepEqual([answer.verified, answer.checked, answer.unchecked], [true, 1, 1])
      // Not all known codes could be checked, but the code of the match could.
      assert.equal(answer.conclusive, false)
      assert.deepEqual(
        answer.matches.map(({ conclusive, reasons }) => [conclusive, reasons]),
        [[true, undefined]],
      )
      assert.equal(answer.summary, 'Verified: the words of "Bank" (Bob).')
    })

  const own: [name: string, damage: (b: ReturnType<typeof bench>) => void, reasons: string[]][] = [
    ['nothing', () => undefined, []],
    ['a clock ahead', ({ freshness }) => void (freshness.clock = 'ahead'), ['clock_uncertain']],
    ['an old sync', ({ freshness }) => void (freshness.lastSync = 0), ['sync_stale']],
    [
      'both, and a fork elsewhere',
      ({ freshness, connection }) => {
        connection({ id: numbered('connection', 1), hold: 'roster_forked' })
        freshness.clock = 'ahead'
        freshness.lastSync = 0
      },
      ['clock_uncertain', 'sync_stale'],
    ],
  ]
  for (const [name, damage, reasons] of own)
    it(`a match depends on the clock, the sync and its connection: ${name}`, async (t) => {
      const b = bench(t)
      b.connection()
      damage(b)
      for (const speaker of [BOB, ME]) {
        const { verified, matches, summary } = await b.verifier.verify(
          b.say(CONNECTION, speaker),
          null,
        )
        assert.deepEqual(
          matches.map((match) => [match.conclusive, match.reasons ?? []]),
          [[reasons.length === 0, reasons]],
        )
        assert.equal(verified, speaker === BOB)
        for (const reason of verified ? reasons : []) assert(summary.includes(reason), summary)
      }
    })

  it('a match of an ended connection is inconclusive, with that reason', async (t) => {
    const b = bench(t)
    b.connection({ hold: 'ended' })
    const { matches } = await b.verifier.verify(b.say(CONNECTION, BOB), null)
    assert.deepEqual(
      matches.map(({ conclusive, reasons }) => [conclusive, reasons]),
      [[false, ['connection_ended']]],
    )
  })
})
