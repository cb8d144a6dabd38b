/** How often words may be tried. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AppError } from '../../src/errors.ts'
import { BOB, CONNECTION, DAY, ME, MINUTE, T0, WRONG, bench, refusal } from './bench.ts'

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
