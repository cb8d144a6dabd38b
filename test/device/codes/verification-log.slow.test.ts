/** Tests what is stored of each verification. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AppError } from '../../../src/errors.ts'
import { BOB, CONNECTION, ME, WRONG, bench } from '../bench.ts'
import { rejects } from '../../rejects.ts'

describe('the verification log', () => {
  it('has an entry of every outcome, without the words', async (t) => {
    const { verifier, connection, say, state, freshness } = bench(t)
    connection()
    const spoken = [say(CONNECTION, BOB), say(CONNECTION, BOB), say(CONNECTION, ME), WRONG]
    for (const words of spoken) await verifier.verify(words, 'tok_1')
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
    for (const word of spoken.join(' ').split(' ')) assert(!JSON.stringify(entries).includes(word))
  })

  it('is written before the answer: a verification that cannot be logged is rejected, and its words are not used up', async (t) => {
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
    await rejects('storage_full', broken.verifier.verify(words, null))
    assert.equal((await good.verifier.verify(words, null)).verified, true)
    assert.equal(state.verifications.page(9, null).length, 1)
  })
})
