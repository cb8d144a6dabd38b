/**
 * Simulates a server that searches for matching words.
 * It stands between a new device N and an approving device O, with a device of its own, and
 * searches for values that make both show the same words. The devices follow section 4; words are
 * cut to 12, 16 and 20 bits, so that hits can be counted.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { concatBytes } from '@noble/hashes/utils.js'
import { sha256 } from '@noble/hashes/sha2.js'
import {
  type ApprovalAnswer,
  type Newcomer,
  type Reveal,
  checkReveal,
  commitmentTo,
  transcriptOf,
} from '../../src/crypto/device-approval.ts'
import { u64be } from '../../src/crypto/encoding/hash-input.ts'
import { newAccount, newDevice } from './builders.ts'

/** Returns a source of the same 32-byte values in the same order at each run. */
function seeded(seed: string) {
  let drawn = 0
  return () => sha256(concatBytes(Buffer.from(seed), u64be(drawn++)))
}

const account = newAccount()
const device = newDevice().id
const keysFrom = (draw: () => Uint8Array) => ({ sign: draw(), sealHash: draw(), auth: draw() })
const newcomer = (draw: () => Uint8Array): Newcomer => ({ account, device, keys: keysFrom(draw) })
const answerFrom = (draw: () => Uint8Array): ApprovalAnswer => ({
  nonce: draw(),
  seq: 3,
  head: draw(),
})

/** Returns the first bits of a transcript, from which the typed words are made. */
const bitsOf = (transcript: Uint8Array, bits: number) =>
  new DataView(transcript.buffer, transcript.byteOffset).getUint32(0) >>> (32 - bits)

/** The transcripts of one attempt at O and at N, from which each shows words. */
interface Shown {
  readonly atO: Uint8Array
  readonly atN: Uint8Array
}

/**
 * Runs one counted attempt.
 * The server commits for its device before O draws, and answers N before N reveals. In between it
 * tries many answers against all values that it has.
 */
function attempt(draw: () => Uint8Array, tries: number): Shown {
  const honest: Reveal = { ...newcomer(draw), nonce: draw() }
  const own: Reveal = { ...newcomer(draw), nonce: draw() }
  const commitment = commitmentTo(own)
  const nO = answerFrom(draw)
  const atO = transcriptOf(own, nO)
  // The nonce of N is secret yet: the best that a search can do is to guess it.
  const guess = { ...honest, nonce: draw() }
  let toN = answerFrom(draw)
  for (let tried = 0; tried < tries; tried++) {
    const candidate = answerFrom(draw)
    if (bitsOf(transcriptOf(guess, candidate), 12) === bitsOf(atO, 12)) toN = candidate
  }
  checkReveal(commitment, own)
  return { atO, atN: transcriptOf(honest, toN) }
}

/** Checks that a count is within five standard deviations of its mean. */
function isExpected(count: number, mean: number, what: string): void {
  const span = 5 * Math.sqrt(mean)
  assert(Math.abs(count - mean) <= span, `${what}: ${count}, expected ${mean} ± ${span}`)
}

describe('a server that searches for matching words', () => {
  test('against a commitment succeeds no more often than blind guesses', () => {
    const draw = seeded('committed')
    const runs = Array.from({ length: 12_000 }, () => attempt(draw, 1))
    for (const bits of [12, 16, 20]) {
      const hits = runs.filter(({ atO, atN }) => bitsOf(atO, bits) === bitsOf(atN, bits)).length
      isExpected(hits, Math.max(runs.length / 2 ** bits, 0.2), `${bits} bits, hits`)
      // For any two attempts, the words at O in one and at N in the other are random draws, too.
      const counts = new Map<number, number>()
      for (const { atO } of runs) {
        const shown = bitsOf(atO, bits)
        counts.set(shown, (counts.get(shown) ?? 0) + 1)
      }
      const pairs = runs.reduce((sum, { atN }) => sum + (counts.get(bitsOf(atN, bits)) ?? 0), 0)
      isExpected(pairs, runs.length ** 2 / 2 ** bits, `${bits} bits, pairs`)
    }
  })

  test('gains nothing from a longer search in one attempt', () => {
    const draw = seeded('longer')
    const runs = Array.from({ length: 300 }, () => attempt(draw, 64))
    const hits = runs.filter(({ atO, atN }) => bitsOf(atO, 8) === bitsOf(atN, 8)).length
    isExpected(hits, 300 / 256, '8 bits')
  })

  for (const bits of [12, 16, 20])
    test(`without a commitment, as in version 1, always finds ${bits} bits from two sides`, () => {
      const draw = seeded(`open ${bits}`)
      // N and O have revealed their keys and nonces.
      // The server chooses the keys of its own device for O, and the log for N, so it needs only
      // the square root of the number of words.
      const honest: Reveal = { ...newcomer(draw), nonce: draw() }
      const nO = answerFrom(draw)
      const atO = new Set<number>()
      const most = 8 * 2 ** (bits / 2)
      let found = 0
      for (; found < most; found++) {
        atO.add(bitsOf(transcriptOf({ ...newcomer(draw), nonce: draw() }, nO), bits))
        const toN = answerFrom(draw)
        if (atO.has(bitsOf(transcriptOf(honest, toN), bits))) break
      }
      assert(found < most, `${found} tries found nothing`)
    })

  /** Returns how many people sign the device of a server that may begin this often. */
  function deceived(seed: string, people: number, starts: number): number {
    const draw = seeded(seed)
    let signed = 0
    for (let person = 0; person < people; person++) {
      const toN = answerFrom(draw)
      const atN = bitsOf(transcriptOf({ ...newcomer(draw), nonce: draw() }, toN), 12)
      const own: Reveal = { ...newcomer(draw), nonce: draw() }
      for (let started = 0; started < starts; started++) {
        const nO = { ...toN, nonce: draw() }
        if (bitsOf(transcriptOf(own, nO), 12) !== atN) continue
        signed++
        break
      }
    }
    return signed
  }

  test('depends on the number of starts: 1,024 free ones give 22 % at 12 bits, five give 0.1 %', () => {
    isExpected(deceived('free', 300, 1024), 300 * (1 - (1 - 2 ** -12) ** 1024), 'free starts')
    isExpected(deceived('counted', 12_000, 5), 12_000 * (1 - (1 - 2 ** -12) ** 5), 'five starts')
  })
})
