/**
 * The recovery paper (section 3): 24 list words for a 256-bit seed and a 32-bit checksum.
 *
 * The recovery key is derived from the seed. It is an Ed25519 key that can sign a reset of the
 * account.
 */
import { equalBytes } from '@noble/curves/utils.js'
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { type KeyPair, signingKeyFrom } from './device-keys.ts'
import { requireLength, labelled } from './encoding/hash-input.ts'
import { requireThat } from './refusal.ts'
import { bytesOf, firstIndices, parseWords, wordsAt } from './words.ts'

/** The number of words on a paper. */
export const PAPER_WORDS = 24

const SEED = 32
const CHECKSUM = 4

/** Returns a new seed, 32 bytes. */
export const newRecoverySeed = (): Uint8Array => randomBytes(SEED)

/**
 * Returns the 24 words of a seed.
 * @throws Refusal `bad_length`
 */
export function paperWords(seed: Uint8Array): string[] {
  requireLength(seed, SEED, 'a recovery seed')
  return wordsAt(firstIndices(concatBytes(seed, checksumOf(seed)), PAPER_WORDS))
}

/**
 * Returns the seed (32 bytes) of the words that the user typed from a paper.
 *
 * Numbers, line breaks and capitals are treated as in `parseWords`.
 * @throws Refusal `unknown_word` and `word_count` as `parseWords`; `recovery_checksum` if the
 * checksum does not fit. It fits by chance for 1 wrong paper in 2^32.
 */
export function parsePaper(typed: string): Uint8Array {
  const { indices } = parseWords(typed, PAPER_WORDS)
  const message = 'the words do not match their checksum; a word or their order is wrong'
  requireThat(fits(indices), 'recovery_checksum', message)
  return bytesOf(indices).slice(0, SEED)
}

/** The number of words in the list. Each word stands for 12 bits. */
const LIST = 4096

/**
 * Finds the mistake in 24 words with a wrong checksum. This takes up to a second.
 * @returns the index, from 0, of the only wrong word, or of the first of two adjacent words that
 * were exchanged; null if there are more mistakes. One result in 40,000 is a coincidence.
 * @throws Refusal as `parseWords`
 */
export function slipIn(typed: string): number | null {
  const { indices } = parseWords(typed, PAPER_WORDS)
  const swapped = indices.findIndex((index, at) => {
    const next = indices[at + 1]
    return next !== undefined && fits(indices.with(at, next).with(at + 1, index))
  })
  if (swapped !== -1) return swapped
  const isWrong = (_: number, at: number) => {
    const tried = [...indices]
    for (tried[at] = 0; tried[at] < LIST; tried[at] += 1) if (fits(tried)) return true
    return false
  }
  const wrong = indices.findIndex(isWrong)
  return wrong === -1 ? null : wrong
}

/** Whether the last bits of 24 indices are the checksum of the bits before them. */
function fits(indices: readonly number[]): boolean {
  const bytes = bytesOf(indices)
  return equalBytes(bytes.subarray(SEED), checksumOf(bytes.subarray(0, SEED)))
}

/**
 * Returns the recovery key of a paper's seed (32 bytes).
 * @throws Refusal `bad_length`
 */
export const recoveryKeyOf = (seed: Uint8Array): KeyPair => signingKeyFrom(recoveryKeySeed(seed))

/**
 * Derives the recovery key's Ed25519 seed (32 bytes, RFC 8032) from a paper's seed.
 * @throws Refusal `bad_length`
 */
export function recoveryKeySeed(seed: Uint8Array): Uint8Array {
  requireLength(seed, SEED, 'a recovery seed')
  return hkdf(sha256, seed, undefined, utf8ToBytes('countersign/v2/recovery-key'), 32)
}

const checksumOf = (seed: Uint8Array): Uint8Array =>
  sha256(labelled('countersign/v2/recovery', seed)).subarray(0, CHECKSUM)
