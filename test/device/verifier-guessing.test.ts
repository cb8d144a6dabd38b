/** How often words may be tried. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AppError } from '../../src/errors.ts'
import { BOB, CONNECTION, DAY, ME, MINUTE, T0, WRONG, bench, refusal } from './bench.ts'

describe('guessing', () => {
  const limited = (wait: string) => (error: unknown) => {
    assert(refusal('rate_limited')(error))
    assert.equal((error as AppError).headers['Retry-After'], wait)
    return true
  }

  it('allows a token 20 wrong tries a minute; then 429 with Retry-After, for good words too', async (t) => {
    const { verifier, connection, say, clock } = bench(t)
    connection()
    for (let i = 0; i < 20; i++) {
      await verifier.verify(WRONG, 'tok_a')
      clock.ms += 100
    }
    await assert.rejects(verifier.verify(WRONG, 'tok_a'), limited('58'))
    await assert.rejects(verifier.verify(say(CONNECTION, BOB), 'tok_a'), limited('58'))
    await assert.rejects(verifier.verify('no words', 'tok_a'), limited('58'))
    clock.ms = T0 + MINUTE - 1
    await assert.rejects(verifier.verify(WRONG, 'tok_a'), limited('1'))
    clock.ms = T0 + MINUTE
    assert.equal((await verifier.verify(say(CONNECTION, BOB), 'tok_a')).verified, true)
    // One try is older than a minute now, so one more is free.
    await verifier.verify(WRONG, 'tok_a')
    await assert.rejects(verifier.verify(WRONG, 'tok_a'), limited('1'))
    clock.ms += MINUTE
    await verifier.verify(WRONG, 'tok_a')
  })

  it('one token at its limit leaves the others and the command line alone', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection()
    for (let i = 0; i < 20; i++) await verifier.verify(WRONG, 'tok_a')
    await assert.rejects(verifier.verify(WRONG, 'tok_a'), limited('60'))
    assert.equal((await verifier.verify(say(CONNECTION, BOB), 'tok_b')).verified, true)
    assert.equal((await verifier.verify(WRONG, null)).verified, false)
  })

  it('allows all tokens together 60 a minute, and the command line 20 of its own', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection()
    for (let i = 0; i < 60; i++) await verifier.verify(WRONG, `tok_${i}`)
    await assert.rejects(verifier.verify(WRONG, 'tok_new'), limited('60'))
    await assert.rejects(verifier.verify(say(CONNECTION, BOB), 'tok_0'), limited('60'))
    for (let i = 0; i < 20; i++) await verifier.verify(WRONG, null)
    await assert.rejects(verifier.verify(WRONG, null), limited('60'))
  })

  it('wrong words of the command line take nothing from the tokens', async (t) => {
    const { verifier, connection, say } = bench(t)
    connection()
    for (let i = 0; i < 20; i++) await verifier.verify(WRONG, null)
    await assert.rejects(verifier.verify(WRONG, null), limited('60'))
    assert.equal((await verifier.verify(say(CONNECTION, BOB), 'tok_a')).verified, true)
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
