/** The guest page’s derivation and its check of words, without a browser. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { codeKey, codeReader, LABEL, ZERO_HEAD } from '../../src/crypto/code.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { checkWords, replaceUnknown, type PageSpeaker } from '../../src/pages/check-words.ts'
import { importCodeKey, readGuestWords } from '../../src/pages/guest-code.ts'
import { bytes, readKit, type CodeCase } from '../crypto/kit2.ts'

const { cases } = readKit<CodeCase>('codes.json')
const zeros = '0'.repeat(64)

describe('the code through WebCrypto', () => {
  const ours = cases.filter(
    (each) => each.label === LABEL.guest && each.epoch === 1 && each.head_hex === zeros,
  )

  it('makes the words of the test kit', async () => {
    assert.ok(ours.length >= 3, `${ours.length} guest cases`)
    for (const each of ours) {
      const key = await importCodeKey(bytes(each.key_hex), bytes(each.subject_hex))
      assert.deepEqual(
        await readGuestWords(key, each.window, bytes(each.speaker_hex)),
        each.words,
        each.id,
      )
    }
  })

  it('makes the words of src/crypto for any secret, subject, speaker and window', async () => {
    for (let i = 0; i < 200; i++) {
      const [secret, subject, speaker] = [32, 16, 16].map((n) =>
        crypto.getRandomValues(new Uint8Array(n)),
      )
      const window = i < 3 ? [0, 2 ** 32, 2 ** 53 - 1][i]! : Math.floor(Math.random() * 2 ** 40)
      const kc = codeKey({
        label: LABEL.guest,
        key: secret!,
        subject: subject!,
        epoch: 1,
        head: ZERO_HEAD,
      })
      const key = await importCodeKey(secret!, subject!)
      assert.deepEqual(
        await readGuestWords(key, window, speaker!),
        wordsAt(codeReader(kc)(window, speaker!)),
      )
    }
  })

  it('destroys the secret: zeroed bytes, a key for signing only', async () => {
    const secret = crypto.getRandomValues(new Uint8Array(32))
    const key = await importCodeKey(secret, new Uint8Array(16))
    assert.deepEqual([...secret], Array(32).fill(0))
    assert.equal(key.extractable, false)
    assert.deepEqual(key.usages, ['sign'])
    await assert.rejects(crypto.subtle.exportKey('raw', key))
  })
})

describe('the judgement of words', () => {
  const expected: Readonly<Record<PageSpeaker, Record<number, string>>> = {
    owner: { 9: 'abacus abdomen abide', 10: 'matador carload recede', 11: 'june acid acorn' },
    guest: { 10: 'thursday retrial cauterize', 9: 'jovial fading frustrate' },
  }
  const wordsOf = async (speaker: PageSpeaker, window: number) =>
    (expected[speaker][window] ?? 'zebra zebra zebra').split(' ')

  for (const [input, kind, window] of [
    ['matador carload recede', 'theirs', 10],
    ['  MATADOR, carload – Recede! ', 'theirs', 10],
    ['matadorcarloadrecede', 'theirs', 10],
    ['abacus abdomen abide', 'theirs', 9],
    ['thursday retrial cauterize', 'own', undefined],
    ['jovial fading frustrate', 'own', undefined],
    ['carload matador recede', 'wrong', undefined],
    ['matador carload', 'count', undefined],
    ['', 'count', undefined],
    ['matador carload recede abide', 'count', undefined],
    ['matador carlaod recede', 'unknown', undefined],
  ] as const) {
    it(`${JSON.stringify(input)} is ${kind}`, async () => {
      const verdict = await checkWords(input, 10, wordsOf, () => true)
      assert.equal(verdict.kind, kind)
      assert.equal('window' in verdict ? verdict.window : undefined, window)
    })
  }

  it('uses a window once, also with two checks at once', async () => {
    const seen = new Set<number>()
    const accept = (window: number) => !seen.has(window) && seen.add(window).has(window)
    const check = () => checkWords('matador carload recede', 10, wordsOf, accept)
    const verdicts = await Promise.all([check(), check()])
    assert.deepEqual(verdicts.map((each) => each.kind).toSorted(), ['theirs', 'used'])
  })

  for (const [input, word, by, result] of [
    ['Matador carlaod recede', 'carlaod', 'carload', 'matador carload recede'],
    ['matadors carload', 'matadors', 'matador', 'matador carload'],
    ['matadorcarlodrecede', 'matadorcarlodrecede', 'carload', 'matador carload recede'],
    ['matadorcarloadreced', 'matadorcarloadreced', 'recede', 'matador carload recede'],
    ['xx carloadx xx', 'xx', 'acid', 'acid carloadx xx'],
  ] as const) {
    it(`puts ${by} into ${input}`, () => assert.equal(replaceUnknown(input, word, by), result))
  }
})
