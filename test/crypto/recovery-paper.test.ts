/** Tests the recovery paper: the cases of test kit 2, and errors in copying it. */
import assert from 'node:assert/strict'
import { createHash, createPrivateKey, createPublicKey, hkdfSync, sign, verify } from 'node:crypto'
import { describe, test } from 'node:test'
import { ed25519 } from '@noble/curves/ed25519.js'
import fc from 'fast-check'
import {
  newRecoverySeed,
  PAPER_WORDS,
  paperWords,
  parsePaper,
  recoveryKeySeed,
} from '../../src/crypto/recovery-paper.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { bytesOf, firstIndices, parseWords, wordsAt } from '../../src/crypto/words.ts'
import { bytes, hex, run } from './kit2.ts'

type PaperCase = {
  input: string
  seed_hex: string
  words: string[]
  indices: number[]
  key_seed_hex: string
  public_hex: string
}
run<PaperCase>(
  'recovery.json',
  () => true,
  (of) => {
    const seed = parsePaper(of.input)
    assert.equal(hex(seed), of.seed_hex)
    assert.deepEqual(paperWords(seed), of.words)
    assert.deepEqual(wordsAt(of.indices), of.words)
    const keySeed = recoveryKeySeed(seed)
    assert.equal(hex(keySeed), of.key_seed_hex)
    assert.equal(hex(ed25519.getPublicKey(keySeed)), of.public_hex)
  },
)

const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })

describe('a recovery key on paper', () => {
  test('is read back in any spelling', () => {
    const write = fc.constantFrom<(words: string[]) => string>(
      (words) => words.join(' '),
      (words) => words.join('').toUpperCase(),
      (words) => words.map((word, i) => `${i + 1}) ${word}`).join('\n'),
    )
    fc.assert(
      fc.property(seeds, write, (seed, typed) => {
        assert.deepEqual(parsePaper(typed(paperWords(seed))), seed)
      }),
      { numRuns: 300 },
    )
  })
  test('of a new seed differs each time', () => {
    const made = Array.from({ length: 50 }, () => paperWords(newRecoverySeed()).join(' '))
    assert.equal(new Set(made).size, 50)
  })
  test('with one other word is rejected', () => {
    fc.assert(
      fc.property(seeds, fc.nat(PAPER_WORDS - 1), fc.nat(4095), (seed, at, index) => {
        const words = paperWords(seed)
        const [other] = wordsAt([index])
        if (words[at] === other) return
        const typed = words.with(at, other!).join(' ')
        assert.throws(() => parsePaper(typed), { reason: 'recovery_checksum' })
      }),
      { numRuns: 1000 },
    )
  })
  test('with two swapped words is rejected', () => {
    const place = fc.nat(PAPER_WORDS - 1)
    fc.assert(
      fc.property(seeds, place, place, (seed, a, b) => {
        const words = paperWords(seed)
        if (words[a] === words[b]) return
        const typed = words.with(a, words[b]!).with(b, words[a]!).join(' ')
        assert.throws(() => parsePaper(typed), { reason: 'recovery_checksum' })
      }),
      { numRuns: 300 },
    )
  })
  test('accepts one last word of 4,096', () => {
    const words = paperWords(newRecoverySeed())
    const accepted = wordsAt(Array.from({ length: 4096 }, (_, index) => index)).filter((last) => {
      try {
        parsePaper(words.with(-1, last).join(' '))
        return true
      } catch (error) {
        assert.ok(error instanceof Refusal && error.reason === 'recovery_checksum')
        return false
      }
    })
    assert.deepEqual(accepted, words.slice(-1))
  })
  test('the error names a word that is not on the list, with similar ones', () => {
    const words = paperWords(new Uint8Array(32)).with(3, 'abacsu').join(' ')
    assert.throws(
      () => parsePaper(words),
      (error: unknown) =>
        error instanceof Refusal &&
        error.reason === 'unknown_word' &&
        error.details.word === 'abacsu' &&
        error.details.suggestions!.includes('abacus'),
    )
  })
  test('the error has the number of typed words', () => {
    const words = paperWords(newRecoverySeed())
    const short = () => parsePaper(words.slice(1).join(' '))
    assert.throws(short, { reason: 'word_count', details: { found: 23 } })
    assert.throws(() => parsePaper(''), { reason: 'word_count', details: { found: 0 } })
  })
  test('needs 32 bytes', () => {
    for (const length of [0, 31, 33]) {
      assert.throws(() => paperWords(new Uint8Array(length)), { reason: 'bad_length' })
      assert.throws(() => recoveryKeySeed(new Uint8Array(length)), { reason: 'bad_length' })
    }
  })
})

test('the checksum is the beginning of the hash by node:crypto', () => {
  const seed = newRecoverySeed()
  const hash = createHash('sha256').update('countersign/v2/recovery\0').update(seed).digest('hex')
  const paper = parseWords(paperWords(seed).join(' '), PAPER_WORDS)
  assert.equal(hex(bytesOf(paper.indices)), hex(seed) + hash.slice(0, 8))
})

test('node:crypto derives the same recovery key, and verifies what it signs', () => {
  const seed = newRecoverySeed()
  const info = 'countersign/v2/recovery-key'
  const keySeed = Buffer.from(hkdfSync('sha256', seed, new Uint8Array(0), info, 32))
  assert.equal(hex(recoveryKeySeed(seed)), keySeed.toString('hex'))
  // RFC 8410 section 7: an Ed25519 private key in PKCS #8.
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), keySeed])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x } = createPublicKey(key).export({ format: 'jwk' })
  assert.equal(x, Buffer.from(ed25519.getPublicKey(keySeed)).toString('base64url'))
  const message = Buffer.from('message')
  assert.deepEqual(Buffer.from(ed25519.sign(message, keySeed)), sign(null, message, key))
  assert.ok(verify(null, message, createPublicKey(key), ed25519.sign(message, keySeed)))
})

test('indices and bytes convert both ways', () => {
  const even = fc.array(fc.tuple(fc.nat(4095), fc.nat(4095)), { maxLength: 20 })
  fc.assert(
    fc.property(even, (pairs) => {
      const indices = pairs.flat()
      assert.deepEqual(firstIndices(bytesOf(indices), indices.length), indices)
    }),
  )
  assert.throws(() => bytesOf([1, 2, 3]), { reason: 'length' })
  assert.equal(hex(bytesOf([0xabc, 0xdef])), hex(bytes('abcdef')))
})
