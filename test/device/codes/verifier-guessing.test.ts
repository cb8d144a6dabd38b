/** Tests how often words may be tried. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AppError } from '../../../src/errors.ts'
import { BOB, CONNECTION, DAY, GUEST, ME, MINUTE, WRONG, bench, type Bench } from '../bench.ts'
import { type Call, rejects } from '../../rejects.ts'

/** Asserts that a call is rejected for so many seconds. */
async function limited(wait: string, call: Call) {
  const { headers } = await rejects('rate_limited', call)
  assert.equal(headers['Retry-After'], wait)
}

const EXPECT = { expect: { connection_id: CONNECTION } }

/** Tries wrong words so slowly that the limits per minute allow all attempts. */
async function wrong(
  { verifier, pass }: Bench,
  times: number,
  caller: string | null,
  asked: Parameters<Bench['verifier']['verify']>[2] = {},
) {
  for (let i = 0; i < times; i++) {
    pass(MINUTE / 10)
    await verifier.verify(WRONG, caller, asked)
  }
}

/**
 * Waits until wrong words are checked again, and makes some attempts.
 * @returns how long it took, in minutes
 */
async function nextPause(b: Bench, caller: string | null, asked = {}): Promise<number> {
  await b.verifier.verify(WRONG, caller, asked)
  const { headers } = await rejects('rate_limited', b.verifier.verify(WRONG, caller, asked))
  const seconds = Number(headers['Retry-After'])
  b.pass(seconds * 1000 - 1)
  await limited('1', b.verifier.verify(WRONG, caller, asked))
  b.pass(1)
  return seconds / 60
}

describe('wrong words in a minute', () => {
  it('reads the limits of a token and of all tokens at once', async (t) => {
    const b = bench(t)
    b.connection()
    await b.verifier.verify(WRONG, 'tok')
    const { mock } = t.mock.method(b.state.wrongTries, 'of')
    for (const asked of [{}, EXPECT]) {
      mock.resetCalls()
      await b.verifier.verify(WRONG, 'tok', asked)
      assert.equal(mock.callCount(), 1)
    }
  })

  it('allows a token 20 wrong tries a minute; then 429 with Retry-After, for good words too', async (t) => {
    const { verifier, connection, say, pass } = bench(t)
    connection()
    for (let i = 0; i < 20; i++) {
      await verifier.verify(WRONG, 'tok_a')
      pass(100)
    }
    await limited('58', verifier.verify(WRONG, 'tok_a'))
    await limited('58', verifier.verify(say(CONNECTION, BOB), 'tok_a'))
    await limited('58', verifier.verify('no words', 'tok_a'))
    pass(MINUTE - 2001)
    await limited('1', verifier.verify(WRONG, 'tok_a'))
    pass(1)
    assert.equal((await verifier.verify(say(CONNECTION, BOB), 'tok_a')).verified, true)
    // One attempt is more than a minute old now, so one more is allowed.
    await verifier.verify(WRONG, 'tok_a')
    await limited('1', verifier.verify(WRONG, 'tok_a'))
    pass(MINUTE)
    await verifier.verify(WRONG, 'tok_a')
  })

  it('one token at its limit leaves the others and the command line alone', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection()
    for (let i = 0; i < 20; i++) await verifier.verify(WRONG, 'tok_a')
    await limited('60', verifier.verify(WRONG, 'tok_a'))
    assert.equal((await verifier.verify(say(CONNECTION, BOB), 'tok_b')).verified, true)
    assert.equal((await verifier.verify(WRONG, null)).verified, false)
  })

  it('allows all tokens together 60 a minute, and the command line 20 of its own', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection()
    for (let i = 0; i < 60; i++) await verifier.verify(WRONG, `tok_${i}`)
    await limited('60', verifier.verify(WRONG, 'tok_new'))
    await limited('60', verifier.verify(say(CONNECTION, BOB), 'tok_0'))
    for (let i = 0; i < 20; i++) await verifier.verify(WRONG, null)
    await limited('60', verifier.verify(WRONG, null))
  })

  it('wrong words of the command line take nothing from the tokens', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection()
    for (let i = 0; i < 20; i++) await verifier.verify(WRONG, null)
    await limited('60', verifier.verify(WRONG, null))
    assert.equal((await verifier.verify(say(CONNECTION, BOB), 'tok_a')).verified, true)
  })

  it('counts tries with an expected speaker separately, in both directions', async (t) => {
    const { verifier, connection } = bench(t)
    connection()
    for (const [caller, first, then] of [
      ['tok_a', {}, EXPECT],
      ['tok_b', EXPECT, {}],
      [null, {}, EXPECT],
    ] as const) {
      for (let i = 0; i < 20; i++) await verifier.verify(WRONG, caller, first)
      await limited('60', verifier.verify(WRONG, caller, first))
      assert.equal((await verifier.verify(WRONG, caller, then)).verified, false)
    }
  })

  it('setting the clock changes nothing, forwards or back', async (t) => {
    const { verifier, connection, clock } = bench(t)
    connection()
    for (let i = 0; i < 20; i++) await verifier.verify(WRONG, null)
    for (const step of [DAY, -3 * DAY]) {
      clock.ms += step
      await limited('60', verifier.verify(WRONG, null))
    }
  })

  it('counts only wrong words: not valid, used or unknown ones', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection()
    for (let i = 0; i < 30; i++) {
      await verifier.verify(say(CONNECTION, BOB), null)
      await verifier.verify(say(CONNECTION, ME), null)
      await rejects('unknown_word', verifier.verify('matadorx carload recede', null))
    }
    assert.equal((await verifier.verify(WRONG, null)).verified, false)
  })
})

describe('wrong words in a row', () => {
  for (const [name, caller, asked] of [
    ['a token', 'tok_a', {}],
    ['the command line', null, {}],
    ['a token with an expected speaker', 'tok_a', EXPECT],
    ['the command line with an expected speaker', null, EXPECT],
  ] as const)
    it(`${name}: each from the 100th on begins a pause, of 1, 2, 4 … 60 minutes`, async (t) => {
      const b = bench(t)
      b.connection()
      await wrong(b, 99, caller, asked)
      b.pass(MINUTE)
      const pauses = []
      for (let i = 0; i < 9; i++) pauses.push(await nextPause(b, caller, asked))
      assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60])
    })

  it('the error names the length of the pause, how to end the row, and what to do meanwhile', async (t) => {
    const b = bench(t)
    b.connection()
    for (const [caller, asked, holder, otherwise] of [
      ['tok_a', {}, 'a token', /Until then, .*"countersignd verify"/],
      [null, {}, 'the command line', /Until then, .*"countersignd verify --expect"/],
      [null, EXPECT, 'the command line', /ask for the words again/],
    ] as const) {
      await wrong(b, 103, caller, asked).catch(() => undefined)
      // The 100th attempt began a pause. This is the fourth pause.
      for (let i = 0; i < 3; i++) {
        b.pass(2 * MINUTE * 2 ** i)
        await b.verifier.verify(WRONG, caller, asked)
      }
      await assert.rejects(b.verifier.verify(WRONG, caller, asked), ({ message }: AppError) => {
        assert.match(message, new RegExp(`103 in a row from ${holder}. Try again in 8 min\\.`))
        assert.match(message, /Correct words then end the pauses/)
        assert.match(message, otherwise)
        return true
      })
    }
  })

  it('right words end the row, and are rejected like others during the pause', async (t) => {
    const b = bench(t)
    b.connection()
    await wrong(b, 100, 'tok_a')
    await limited('60', b.verifier.verify(b.say(CONNECTION, BOB), 'tok_a'))
    b.pass(MINUTE)
    assert.equal((await b.verifier.verify(b.say(CONNECTION, BOB), 'tok_a')).verified, true)
    await wrong(b, 99, 'tok_a')
    b.pass(MINUTE)
    assert.equal(await nextPause(b, 'tok_a'), 1)
  })

  for (const [name, other, saysOther] of [
    ['used ones', BOB, true],
    ['own ones', ME, false],
  ] as const)
    it(`${name} neither end the row nor count`, async (t) => {
      const b = bench(t)
      b.connection()
      await wrong(b, 50, null)
      const words = b.say(CONNECTION, other)
      if (saysOther) await b.verifier.verify(words, 'tok_b')
      for (let i = 0; i < 60; i++) {
        const { verified, matches } = await b.verifier.verify(words, null)
        assert.deepEqual([verified, matches.length], [false, 1])
      }
      await wrong(b, 49, null)
      b.pass(MINUTE)
      assert.equal(await nextPause(b, null), 1)
    })

  it('words that could not be checked count, as they reveal as much', async (t) => {
    const b = bench(t)
    b.connection()
    b.freshness.offset = null
    await wrong(b, 100, null)
    await limited('60', b.verifier.verify(WRONG, null))
  })

  it('right words do not end the row while the clock is behind, as they do not verify', async (t) => {
    const b = bench(t)
    b.connection()
    await wrong(b, 99, null)
    b.freshness.clock = 'behind'
    assert.equal((await b.verifier.verify(b.say(CONNECTION, BOB), null)).verified, false)
    b.pass(MINUTE)
    assert.equal(await nextPause(b, null), 1)
  })

  it('all tokens together reach 300, and the command line is not affected', async (t) => {
    const b = bench(t)
    b.connection()
    for (let n = 0; n < 4; n++) await wrong(b, 75, `tok_${n}`)
    for (const token of ['tok_0', 'tok_new']) await limited('60', b.verifier.verify(WRONG, token))
    assert.equal((await b.verifier.verify(WRONG, null)).verified, false)
    // Callers that name the expected speaker are not limited either.
    assert.equal((await b.verifier.verify(WRONG, 'tok_0', EXPECT)).verified, false)
    b.pass(MINUTE)
    assert.equal(await nextPause(b, 'tok_new'), 2)
    // Right words of one token reset the common count, but not the counts of the other tokens.
    assert.equal((await b.verifier.verify(b.say(CONNECTION, BOB), 'tok_new')).verified, true)
    await wrong(b, 25, 'tok_0')
    await limited('60', b.verifier.verify(WRONG, 'tok_0'))
    assert.equal((await b.verifier.verify(WRONG, 'tok_1')).verified, false)
  })

  it('right words with and without an expected speaker end only the row of their kind', async (t) => {
    const b = bench(t)
    b.connection()
    b.guest()
    await wrong(b, 99, 'tok_a')
    await wrong(b, 99, 'tok_a', EXPECT)
    assert.equal((await b.verifier.verify(b.say(CONNECTION, BOB), 'tok_a', EXPECT)).verified, true)
    b.pass(MINUTE)
    assert.equal(await nextPause(b, 'tok_a'), 1)
    await wrong(b, 99, 'tok_a', EXPECT)
    assert.equal((await b.verifier.verify(b.say(GUEST, GUEST), 'tok_a')).verified, true)
    b.pass(MINUTE)
    assert.equal(await nextPause(b, 'tok_a', EXPECT), 1)
  })
})

describe('a pause', () => {
  const inPause = async (t: Parameters<typeof bench>[0]) => {
    const b = bench(t)
    b.connection()
    await wrong(b, 99, null)
    b.pass(MINUTE)
    for (let i = 0; i < 2; i++) await nextPause(b, null)
    await b.verifier.verify(WRONG, null)
    return b
  }

  it('survives a restart of the daemon, with the count', async (t) => {
    const b = await inPause(t)
    b.pass(MINUTE)
    const again = b.reopen()
    await limited('180', again.verifier.verify(WRONG, null))
    b.pass(3 * MINUTE)
    assert.equal(await nextPause(again, null), 8)
  })

  it('is not shortened by a restart after each try', async (t) => {
    const b = bench(t)
    b.connection()
    let tries = 0
    for (let start = 0; start < 20; start++) {
      const { verifier } = b.reopen()
      for (let i = 0; i < 20; i++)
        await verifier.verify(WRONG, 'tok_a').then(
          () => tries++,
          () => undefined,
        )
    }
    assert.equal(tries, 100)
  })

  it('is not shortened by setting the clock', async (t) => {
    const b = await inPause(t)
    for (const step of [DAY, -2 * DAY]) {
      b.clock.ms += step
      for (const { verifier } of [b, b.reopen()]) await limited('240', verifier.verify(WRONG, null))
    }
  })

  for (const [name, boot] of [
    ['of a system with a boot id', 'boot 2'],
    ['of a system without one', null],
  ] as const)
    it(`begins again at a restart of the machine, ${name}`, async (t) => {
      const b = bench(t)
      if (boot === null) b.machine.boot = null
      const first = b.reopen()
      first.connection()
      await wrong(first, 100, null)
      b.machine.uptime = 20_000
      b.machine.boot = boot
      const again = b.reopen()
      await limited('40', again.verifier.verify(WRONG, null))
      b.pass(40_000)
      assert.equal((await again.verifier.verify(WRONG, null)).verified, false)
    })
})

it('words that the account server knows are subtracted from the row', async (t) => {
  const b = bench(t)
  b.connection()
  await wrong(b, 99, 'tok_a')
  for (let i = 0; i < 5; i++) {
    await wrong(b, 1, 'tok_a', { method: 'public' })
    b.verifier.wasNoGuess('tok_a')
  }
  b.pass(MINUTE)
  assert.equal(await nextPause(b, 'tok_a'), 1)
})

it('any history of tries is limited exactly as a model predicts', async (t) => {
  const b = bench(t)
  b.connection()
  const model = new Map<string, number>()
  let seed = 7
  const chance = (n: number) => (seed = (seed * 48_271) % 0x7fffffff) % n
  const callers = ['tok_a', 'tok_b', 'tok_c', null]
  for (let step = 0; step < 1500; step++) {
    // Longer than any pause, so that every attempt is checked.
    b.pass(61 * MINUTE)
    const caller = callers[chance(4)]!
    const asked = chance(2) === 0 ? {} : EXPECT
    const rows = (caller === null ? ['line'] : [caller, 'tokens']).map(
      (row) => `${row} ${asked === EXPECT}`,
    )
    b.freshness.lastSync = b.clock.ms
    if (chance(300) === 0) {
      const words = b.say(CONNECTION, BOB)
      assert.equal((await b.verifier.verify(words, caller, asked)).verified, true)
      for (const row of rows) model.delete(row)
      continue
    }
    await b.verifier.verify(WRONG, caller, asked)
    for (const row of rows) model.set(row, (model.get(row) ?? 0) + 1)
    const most = Math.max(
      ...rows.map((row) => {
        const over = (model.get(row) ?? 0) - (row.startsWith('tokens') ? 300 : 100)
        return over < 0 ? 0 : Math.min(3600, 60 * 2 ** over)
      }),
    )
    const next = b.verifier.verify('matador carload', caller, asked)
    if (most === 0) await rejects('word_count', next)
    else await limited(`${most}`, next)
  }
})
