/** Tests the spellings of words that are accepted, and texts that are not words. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BOB, CONNECTION, bench } from '../bench.ts'
import { rejects } from '../../rejects.ts'

describe('spellings of words', () => {
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
      await rejects(code, bench(t).verifier.verify(words, null), details)
    })

  it('the error for an unknown word names the word and similar ones', async (t) => {
    const verified = bench(t).verifier.verify('matador carlod recede', null)
    const { details } = await rejects('unknown_word', verified, { word: 'carlod' })
    assert(details.suggestions?.includes('carload'))
  })
})
