/**
 * Simulates a server that searches for matching words.
 * It stands between a new device N and an approving device O, with a device of its own, and
 * searches for values that make both show the same words. The devices follow section 4; words are
 * cut to 12, 16 and 20 bits, so that hits can be counted.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type ApprovalAnswer,
  type Newcomer,
  type Reveal,
  checkReveal,
  commitmentTo,
  transcriptOf,
} from '../../src/crypto/device-approval.ts'
import { formatId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { type Draw, isExpected, seeded } from './searching.ts'

const ids = seeded('ids')
const account = formatId(ID_PREFIX.account, ids().slice(0, 16))
const device = formatId(ID_PREFIX.device, ids().slice(0, 16))
const keysFrom = (draw: Draw) => ({ sign: draw(), sealHash: draw(), auth: draw() })
const newcomer = (draw: Draw): Newcomer => ({ account, device, keys: keysFrom(draw) })
const answerFrom = (draw: Draw): ApprovalAnswer => ({
  nonce: draw(),
  seq: 3,
  head: draw(),
})

/** The bits of a transcript from which words are made. */
const WORD_BITS = 96

/** Returns word `at` of a transcript, where words have this number of bits, at most 25. */
function bitsOf(transcript: Uint8Array, bits: number, at = 0): number {
  const from = at * bits
  const four = new DataView(transcript.buffer, transcript.byteOffset).getUint32(from >> 3)
  return (four << (from & 7)) >>> (32 - bits)
}

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
function attempt(draw: Draw, tries: number): Shown {
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
    if (bitsOf(transcriptOf(guess, candidate), 8) === bitsOf(atO, 8)) toN = candidate
  }
  checkReveal(commitment, own)
  return { atO, atN: transcriptOf(honest, toN) }
}

describe('a server that searches for matching words', () => {
  test('against a commitment succeeds no more often than blind guesses', () => {
    const draw = seeded('committed')
    const runs = Array.from({ length: 2 ** 15 }, () => attempt(draw, 1))
    for (const bits of [12, 16, 20]) {
      // Each word of both transcripts is a try of its own.
      const words = Array.from({ length: Math.floor(WORD_BITS / bits) }, (_, at) => at)
      const hits = runs.flatMap(({ atO, atN }) =>
        words.filter((at) => bitsOf(atO, bits, at) === bitsOf(atN, bits, at)),
      ).length
      isExpected(hits, (words.length * runs.length) / 2 ** bits, `${bits} bits, hits`)
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
    const runs = Array.from({ length: 2048 }, () => attempt(draw, 16))
    const hits = runs.filter(({ atO, atN }) => bitsOf(atO, 8) === bitsOf(atN, 8)).length
    isExpected(hits, runs.length / 256, '8 bits')
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
    isExpected(deceived('free', 150, 1024), 150 * (1 - (1 - 2 ** -12) ** 1024), 'free starts')
    isExpected(deceived('counted', 12_000, 5), 12_000 * (1 - (1 - 2 ** -12) ** 5), 'five starts')
  })
})
