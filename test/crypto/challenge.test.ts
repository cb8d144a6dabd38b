/** Tests codes of protocol 2: words for everyone, and words for one listener and one purpose. */
import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  challengeReader,
  newChallenge,
  type ChallengeInput,
  readPurpose,
} from '../../src/crypto/challenge.ts'
import { LABEL, codeKey, codeReader } from '../../src/crypto/code.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { bytes, hex, run, type Case, type CodeCase } from './kit2.ts'

const hasMac2 = (of: Case) => 'mac' in of && of.mac === 2

function kcOf(of: Omit<CodeCase, 'label'>): Uint8Array {
  const [key, subject, head] = [bytes(of.key_hex), bytes(of.subject_hex), bytes(of.head_hex)]
  const kc = codeKey({ label: LABEL[of.code], key, subject, epoch: of.epoch, head })
  assert.equal(hex(kc), of.kc_hex)
  return kc
}
run<CodeCase>(
  'codes.json',
  (of) => !hasMac2(of),
  (of) => {
    assert.equal(of.label, LABEL[of.code])
    const indices = codeReader(kcOf(of))(of.window, bytes(of.speaker_hex))
    assert.deepEqual(indices, of.indices)
    assert.deepEqual(wordsAt(indices), of.words)
  },
)

type ChallengeCase = Omit<CodeCase, 'label'> & {
  listener_hex: string
  challenge: number
  challenge_word: string
  purpose: string
  purpose_shown: string
  purpose_sha256_hex: string
}
run<ChallengeCase>('codes.json', hasMac2, (of) => {
  const purpose = readPurpose(of.purpose)
  assert.equal(purpose.shown, of.purpose_shown)
  assert.equal(hex(purpose.sha256), of.purpose_sha256_hex)
  const { window, challenge } = of
  const [speaker, listener] = [bytes(of.speaker_hex), bytes(of.listener_hex)]
  const read = challengeReader(kcOf(of))
  const indices = read({ window, speaker, listener, challenge, purpose })
  assert.deepEqual(indices, of.indices)
  assert.deepEqual(wordsAt(indices), of.words)
  assert.deepEqual(wordsAt([challenge]), [of.challenge_word])
})

describe('words for one listener', () => {
  const kc = new Uint8Array(randomBytes(32))
  const id = () => new Uint8Array(randomBytes(16))
  const given: ChallengeInput = {
    window: 29_000_000,
    speaker: id(),
    listener: id(),
    challenge: 77,
    purpose: readPurpose('pay 12'),
  }
  const read = challengeReader(kc)

  test('depend on every part, and are not the words for everyone', () => {
    const { speaker, listener, window } = given
    const all = [
      read(given),
      read({ ...given, window: window + 1 }),
      read({ ...given, speaker: id() }),
      read({ ...given, listener: id() }),
      read({ ...given, speaker: listener, listener: speaker }),
      read({ ...given, challenge: 78 }),
      read({ ...given, purpose: readPurpose('') }),
      challengeReader(new Uint8Array(randomBytes(32)))(given),
      codeReader(kc)(window, speaker),
    ]
    assert.equal(new Set(all.map((indices) => indices.join(' '))).size, all.length)
  })
  test('are the first 36 bits of the MAC by node:crypto', () => {
    fc.assert(
      fc.property(fc.nat(4095), fc.maxSafeNat(), (challenge, window) => {
        const message = Buffer.alloc(43)
        message.writeUInt8(2, 0)
        message.writeBigUInt64BE(BigInt(window), 1)
        message.set(given.speaker, 9)
        message.set(given.listener, 25)
        message.writeUInt16BE(challenge, 41)
        const purpose = createHash('sha256').update('pay12').digest()
        const mac = createHmac('sha256', kc).update(message).update(purpose).digest('hex')
        const indices = read({ ...given, challenge, window })
        const shown = indices.map((index) => index.toString(16).padStart(3, '0')).join('')
        assert.equal(shown, mac.slice(0, 9))
      }),
    )
  })
  const faults: [string, Partial<ChallengeInput>, string][] = [
    ['a speaker of 15 bytes', { speaker: new Uint8Array(15) }, 'bad_length'],
    ['a listener of 17 bytes', { listener: new Uint8Array(17) }, 'bad_length'],
    ['a challenge above the list', { challenge: 4096 }, 'bad_value'],
    ['a negative challenge', { challenge: -1 }, 'bad_value'],
    ['a fractional challenge', { challenge: 0.5 }, 'bad_value'],
    ['a negative window', { window: -1 }, 'bad_value'],
  ]
  for (const [name, change, reason] of faults)
    test(`${name}: ${reason}`, () => assert.throws(() => read({ ...given, ...change }), { reason }))
  test('a code key of 31 bytes: bad_length', () =>
    assert.throws(() => challengeReader(new Uint8Array(31)), { reason: 'bad_length' }))
})

test('challenges are drawn from the whole list', () => {
  const drawn = Array.from({ length: 4000 }, newChallenge)
  assert.ok(drawn.every((index) => Number.isInteger(index) && index >= 0 && index < 4096))
  const used = drawn.reduce((bits, index) => bits | index, 0)
  assert.equal(used, 4095)
  // Of 4096 equally likely words, 4,000 draws hit 2,553 on average, with a deviation of 25.
  assert.ok(new Set(drawn).size > 2300)
})

describe('a purpose', () => {
  test('typed again as displayed is the same', () => {
    // Conjoining jamo compose only after the characters between them are dropped.
    const isJamo = /[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]/
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (typed) => {
        if (isJamo.test(typed.normalize('NFKC'))) return
        const purpose = readPurpose(typed)
        assert.deepEqual(readPurpose(purpose.shown), purpose)
      }),
      { numRuns: 5000 },
    )
  })
  test('contains only letters and digits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (typed) => {
        assert.match(readPurpose(typed).shown, /^[\p{L}\p{Nd}]*$/u)
      }),
      { numRuns: 2000 },
    )
  })
})
