/** Whose words are these: the rules of protocol section 2, each against words of an independent computation. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import { PREFIX, formatId } from '../../src/crypto/id.ts'
import { AppError } from '../../src/errors.ts'
import {
  BOB,
  CAROL,
  CONNECTION,
  DAY,
  GUEST,
  ME,
  MINUTE,
  T0,
  W0,
  bench,
  keyOf,
  nameOf,
} from './bench.ts'

const WRONG = 'matador carload recede'

const refusal = (code: string) => (error: unknown) => {
  assert(error instanceof AppError, String(error))
  assert.equal(error.code, code)
  return true
}

describe('directional', () => {
  it('others’ words verify, one’s own are an echo, and a stranger’s are nothing', async (t) => {
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
          window: W0,
        },
      ])
    }
    const stranger = await verifier.verify(say(CONNECTION, GUEST), null)
    assert.deepEqual([stranger.verified, stranger.echo, stranger.matches], [false, false, []])
  })

  it('a guest: the guest’s words verify, the owner’s are an echo, and both are what they say', async (t) => {
    const { verifier, guest, say, codes, clock } = bench(t)
    guest()
    assert.equal(codes.own(GUEST, clock.ms)?.words, say(GUEST, ME))
    const heard = await verifier.verify(say(GUEST, GUEST), 'tok')
    assert.deepEqual([heard.verified, heard.matches[0]?.guest_code_id], [true, GUEST])
    assert.equal(heard.summary, 'Verified: the words of guest "Ann".')
    const echo = await verifier.verify(say(GUEST, ME), 'tok')
    assert.deepEqual([echo.verified, echo.echo], [false, true])
    assert.equal(echo.summary, 'Your own words for this guest, repeated back: no proof.')
    assert.equal(
      (await verifier.verify(say(GUEST, ME), 'tok')).replayed,
      false,
      'an echo uses nothing up',
    )
  })

  it('one’s own words turn with the minute', (t) => {
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
    it(`words of the window ${drift >= 0 ? '+' : ''}${drift}: ${verified ? 'verify' : 'nothing'}`, async (t) => {
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

  it('each window counts for itself, and a later one does not free an earlier one', async (t) => {
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

  it('an expired guest code says and verifies nothing', async (t) => {
    const { verifier, guest, say, clock } = bench(t)
    guest({ expiresAt: T0 + 5000 })
    clock.ms += 5000
    const { verified, checked, reasons } = await verifier.verify(say(GUEST, GUEST), null)
    assert.deepEqual([verified, checked, reasons], [false, 0, ['nothing_cached']])
  })
})

describe('replay', () => {
  it('is told with the time of the first use, after another start too', async (t) => {
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

  it('is per speaker', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection({ others: [BOB, CAROL] })
    assert.equal((await verifier.verify(say(CONNECTION, BOB), null)).verified, true)
    assert.equal((await verifier.verify(say(CONNECTION, CAROL), null)).verified, true)
  })
})

describe('a clock that goes back', () => {
  for (const [name, back, uncertain] of [
    ['one minute: within the drift', 1, false],
    ['two minutes', 2, true],
    ['a day', 24 * 60, true],
  ] as const)
    it(`${name}: ${uncertain ? 'clock_uncertain, and nothing verifies' : 'no matter'}`, async (t) => {
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

  // The wanderings of a clock: minutes from W0. At each stop the words of W0 are tried, and some wrong ones.
  for (const stops of [
    [0, 1, 0, -1, 0, 1],
    [0, 10, 0],
    [0, 1, 2, 3, 4, 5, 0, 1],
    [0, 5, -1, 0],
    [-1, 1, 500_000, 0],
    [0, -5, 0],
    [1, -100, 1, 0],
  ])
    it(`lets nothing verify twice: ${stops.join(', ')}`, async (t) => {
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

describe('conclusive', () => {
  const cases: [name: string, set: (b: ReturnType<typeof bench>) => void, reasons: string[]][] = [
    ['all is well', ({ connection }) => void connection(), []],
    ['a guest alone is enough', ({ guest }) => void guest(), []],
    ['nothing at all', () => undefined, ['nothing_cached']],
    [
      'a secret is on another device',
      ({ connection, vault }) => vault.delete(connection()),
      ['secret_missing'],
    ],
    [
      'one secret of two',
      ({ connection, guest, vault }) => {
        guest()
        vault.delete(connection())
      },
      ['secret_missing'],
    ],
    ...(['rotation_pending', 'roster_forked'] as const).map((hold): (typeof cases)[number] => [
      'one that is held, and one that is not',
      ({ connection, guest }) => {
        guest()
        connection({ hold })
      },
      [hold],
    ]),
    [
      'one that is held, without its secret',
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
    [
      'no sync yet',
      ({ connection, freshness }) => {
        connection()
        freshness.lastSync = null
      },
      ['sync_stale'],
    ],
    ...([0, 1] as const).map((over): (typeof cases)[number] => [
      `the last sync is seven days and ${over} ms old`,
      ({ connection, freshness }) => {
        connection()
        freshness.lastSync = T0 - 7 * DAY - over
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
    it(`${name}: ${reasons.join(', ') || 'yes'}`, async (t) => {
      const all = bench(t)
      set(all)
      const answer = await all.verifier.verify(WRONG, null)
      assert.deepEqual([answer.verified, answer.reasons], [false, reasons])
      assert.equal(answer.conclusive, reasons.length === 0)
      for (const reason of reasons) assert(answer.summary.includes(reason), answer.summary)
      assert.equal(answer.summary.startsWith('Not verified'), reasons.length === 0)
    })

  it('what is held verifies nothing: neither a member’s words nor an echo, until it is held no more', async (t) => {
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

  it('a match verifies although something else could not be checked, and says so', async (t) => {
    const { verifier, connection, guest, vault, say } = bench(t)
    connection()
    vault.delete(guest())
    const answer = await verifier.verify(say(CONNECTION, BOB), null)
    assert.deepEqual(
      [answer.verified, answer.conclusive, answer.checked, answer.unchecked],
      [true, false, 1, 1],
    )
    assert.match(answer.summary, /^Verified: .* Not everything could be checked \(secret_missing\)/)
  })
})

describe('several matches', () => {
  // Found by searching 2^18 keys on each side for the same 36 bits in the minute W0.
  const guests = [
    { id: formatId(PREFIX.guest, new Uint8Array(16).fill(1)), label: 'Ann', k: keyOf('a129377') },
    { id: formatId(PREFIX.guest, new Uint8Array(16).fill(2)), label: 'Ben', k: keyOf('b190998') },
  ] as const

  it('are all returned, never only the first, and each is used up', async (t) => {
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

  it('one of whose words were used: what is still fresh verifies, once', async (t) => {
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

describe('guessing', () => {
  it('twenty wrong tries a minute; then 429 with Retry-After, for good words too, until the clock moves on', async (t) => {
    const { verifier, connection, say, clock } = bench(t)
    connection()
    for (let i = 0; i < 20; i++) {
      await verifier.verify(WRONG, `tok_${i}`)
      clock.ms += 100
    }
    const limited = (wait: string) => (error: unknown) => {
      assert(refusal('rate_limited')(error))
      assert.equal((error as AppError).headers['Retry-After'], wait)
      return true
    }
    await assert.rejects(verifier.verify(WRONG, null), limited('58'))
    await assert.rejects(verifier.verify(say(CONNECTION, BOB), null), limited('58'))
    await assert.rejects(verifier.verify('no words', null), limited('58'))
    clock.ms = T0 + MINUTE - 1
    await assert.rejects(verifier.verify(WRONG, null), limited('1'))
    clock.ms = T0 + MINUTE
    assert.equal((await verifier.verify(say(CONNECTION, BOB), null)).verified, true)
    // One try has fallen out of the minute, so one more is free.
    await verifier.verify(WRONG, null)
    await assert.rejects(verifier.verify(WRONG, null), limited('1'))
    clock.ms += MINUTE
    await verifier.verify(WRONG, null)
  })

  it('a clock that was set back does not keep the brake on', async (t) => {
    const { verifier, connection, clock } = bench(t)
    connection()
    for (let i = 0; i < 20; i++) await verifier.verify(WRONG, null)
    clock.ms -= DAY
    assert.equal((await verifier.verify(WRONG, null)).verified, false)
  })

  it('only wrong words count: not good ones, not used ones, not what is no word', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection()
    for (let i = 0; i < 30; i++) {
      await verifier.verify(say(CONNECTION, BOB), null)
      await verifier.verify(say(CONNECTION, ME), null)
      await assert.rejects(
        verifier.verify('matadorx carload recede', null),
        refusal('unknown_word'),
      )
    }
    assert.equal((await verifier.verify(WRONG, null)).verified, false)
  })
})

describe('words as people write them', () => {
  for (const [name, spell] of [
    ['upper case', (words: string) => words.toUpperCase()],
    ['commas and line feeds', (words: string) => words.replaceAll(' ', ',\n ')],
    ['without spaces', (words: string) => words.replaceAll(' ', '')],
    [
      'full-width letters',
      (words: string) =>
        words.replace(/[a-z]/g, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0)),
    ],
    ['an array', (words: string) => words.split(' ')],
  ] as const)
    it(name, async (t) => {
      const { verifier, connection, say } = bench(t)
      connection()
      assert.equal((await verifier.verify(spell(say(CONNECTION, BOB)), null)).verified, true)
    })

  for (const [words, code, details] of [
    ['matador carload', 'word_count', { found: 2 }],
    ['matador carload recede recede', 'word_count', { found: 4 }],
    ['', 'word_count', { found: 0 }],
  ] as const)
    it(`"${words}": ${code}`, async (t) => {
      await assert.rejects(
        bench(t).verifier.verify(words, null),
        (error) =>
          refusal(code)(error) &&
          assert.deepEqual((error as AppError).details, details) === undefined,
      )
    })

  it('an unknown word is named, with what is near it', async (t) => {
    await assert.rejects(
      bench(t).verifier.verify('matador carlod recede', null),
      (error: AppError) => {
        assert.equal(error.code, 'unknown_word')
        assert.equal(error.details.word, 'carlod')
        assert(error.details.suggestions?.includes('carload'))
        return true
      },
    )
  })
})

describe('the verification log', () => {
  it('has an entry of every outcome, without the words', async (t) => {
    const { verifier, connection, say, state, freshness } = bench(t)
    connection()
    const said = [say(CONNECTION, BOB), say(CONNECTION, BOB), say(CONNECTION, ME), WRONG]
    for (const words of said) await verifier.verify(words, 'tok_1')
    freshness.offset = null
    await verifier.verify(WRONG, null)
    const entries = state.verifications.page(9, null)
    assert.deepEqual(
      entries.map(({ outcome, caller, matches }) => [outcome, caller, matches.length]),
      [
        ['inconclusive', null, 0],
        ['not_verified', 'tok_1', 0],
        ['echo', 'tok_1', 1],
        ['not_verified', 'tok_1', 1],
        ['verified', 'tok_1', 1],
      ],
    )
    for (const word of said.join(' ').split(' ')) assert(!JSON.stringify(entries).includes(word))
  })

  it('is written before the answer: what cannot be logged is not answered, and not used up', async (t) => {
    const good = bench(t)
    good.connection()
    const words = good.say(CONNECTION, BOB)
    const full = () => {
      throw new AppError('storage_full', 'full')
    }
    const { state } = good
    const broken = good.reopen({
      state: { ...state, verifications: { ...state.verifications, insert: full } },
    })
    await assert.rejects(broken.verifier.verify(words, null), refusal('storage_full'))
    assert.equal((await good.verifier.verify(words, null)).verified, true)
    assert.equal(state.verifications.page(9, null).length, 1)
  })
})

describe('the vault', () => {
  const cases: [name: string, spoil: (b: ReturnType<typeof bench>) => void][] = [
    [
      'a record in the place of another',
      ({ state }) => {
        const other = state.secrets.get(GUEST)
        assert(other !== null)
        state.secrets.put({ ...other, id: CONNECTION })
      },
    ],
    [
      'an older version of the same record',
      ({ state, vault }) => {
        const old = state.secrets.get(CONNECTION)
        assert(old !== null)
        vault.put(CONNECTION, keyOf('newer'))
        state.secrets.put({ ...old, version: old.version + 1 })
      },
    ],
    ...[0, 12, 28].map((at): (typeof cases)[number] => [
      `byte ${at} changed`,
      ({ state }) => {
        const row = state.secrets.get(CONNECTION)
        assert(row !== null)
        const sealed = Uint8Array.from(row.sealed)
        sealed[at]! ^= 1
        state.secrets.put({ ...row, sealed })
      },
    ]),
    [
      'cut short',
      ({ state }) => {
        const row = state.secrets.get(CONNECTION)
        assert(row !== null)
        state.secrets.put({ ...row, sealed: row.sealed.subarray(0, 20) })
      },
    ],
  ]
  for (const [name, spoil] of cases)
    it(`${name}: refused, and never used`, async (t) => {
      const all = bench(t)
      all.connection()
      all.guest()
      spoil(all)
      const again = all.reopen()
      assert.throws(() => again.vault.get(CONNECTION), refusal('secret_unavailable'))
      assert.equal(again.codes.own(CONNECTION, again.clock.ms), null)
      const { verified, conclusive, reasons, checked, unchecked } = await again.verifier.verify(
        all.say(GUEST, GUEST),
        null,
      )
      assert.deepEqual(
        { verified, conclusive, reasons, checked, unchecked },
        {
          verified: true,
          conclusive: false,
          reasons: ['secret_missing'],
          checked: 1,
          unchecked: 1,
        },
        'the guest is checked all the same',
      )
    })

  it('gives back what it keeps, and nothing of it lies open', (t) => {
    const { vault, state, connection } = bench(t)
    connection()
    const k = keyOf(`${CONNECTION} 1`)
    assert.deepEqual(Buffer.from(vault.get(CONNECTION) ?? []), k)
    const row = state.secrets.get(CONNECTION)
    assert(!Buffer.from(row?.sealed ?? []).includes(k))
    assert(!JSON.stringify(row).includes(encodeBase64url(k)))
    vault.delete(CONNECTION)
    assert.deepEqual([vault.get(CONNECTION), vault.has(CONNECTION)], [null, false])
  })
})
