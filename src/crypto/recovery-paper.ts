/**
 * The recovery paper (section 3): a seed of 256 bits and a checksum of 32 bits as 24 list words.
 * The recovery key is derived from the seed. It is an Ed25519 key that can vouch for a reset of
 * the account.
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
 * Returns the seed, 32 bytes, of the words that the user typed from a paper. Numbers, lines and
 * capitals are treated as in all words.
 * @throws Refusal `unknown_word` and `word_count` as `parseWords`; `recovery_checksum` if the
 *   checksum does not fit, as for all but one of 2^32 wrong papers
 */
export function parsePaper(typed: string): Uint8Array {
  const { indices } = parseWords(typed, PAPER_WORDS)
  const message = 'the words do not match their checksum; a word or their order is wrong'
  requireThat(fits(indices), 'recovery_checksum', message)
  return bytesOf(indices).slice(0, SEED)
}

/** The number of words in the list: 12 bits each. */
const LIST = 4096

/**
 * Locates the mistake in 24 words with a wrong checksum. Takes up to a second.
 * @returns the place, from 0, of the only wrong word, or of the first of two neighbours that
 *   were exchanged; null for more mistakes. One of 40,000 results occurs by chance.
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

/** Whether 24 indices end with the checksum of the others. */
function fits(indices: readonly number[]): boolean {
  const bytes = bytesOf(indices)
  return equalBytes(bytes.subarray(SEED), checksumOf(bytes.subarray(0, SEED)))
}

/**
 * Returns the recovery key of a paper's seed, 32 bytes.
 * @throws Refusal `bad_length`
 */
export const recoveryKeyOf = (seed: Uint8Array): KeyPair => signingKeyFrom(recoveryKeySeed(seed))

/**
 * Returns the seed of the recovery key, 32 bytes (RFC 8032), from a paper's seed.
 * @throws Refusal `bad_length`
 */
export function recoveryKeySeed(seed: Uint8Array): Uint8Array {
  requireLength(seed, SEED, 'a recovery seed')
  return hkdf(sha256, seed, undefined, utf8ToBytes('countersign/v2/recovery-key'), 32)
}

const checksumOf = (seed: Uint8Array): Uint8Array =>
  sha256(labelled('countersign/v2/recovery', seed)).subarray(0, CHECKSUM)
