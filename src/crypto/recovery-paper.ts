/**
 * The recovery paper (section 3): a seed of 256 bits and a checksum of 32 as 24 list words. From the
 * seed follows the recovery key, an Ed25519 key that can vouch for a reset of the account.
 */
import { equalBytes } from '@noble/curves/utils.js'
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { type KeyPair, signingKeyFrom } from './device-keys.ts'
import { requireLength, labelled } from './encoding/hash-input.ts'
import { demand } from './refusal.ts'
import { bytesOf, firstIndices, parseWords, wordsAt } from './words.ts'

/** How many words are on a paper. */
export const PAPER_WORDS = 24

const SEED = 32
const CHECKSUM = 4

/** A new seed, 32 bytes. */
export const newRecoverySeed = (): Uint8Array => randomBytes(SEED)

/**
 * The words of a seed, 24.
 * @throws Refusal `bad_length`
 */
export function paperWords(seed: Uint8Array): string[] {
  requireLength(seed, SEED, 'a recovery seed')
  return wordsAt(firstIndices(concatBytes(seed, checksumOf(seed)), PAPER_WORDS))
}

/**
 * The seed, 32 bytes, of what a person types from a paper. Numbers, lines and capitals are as with
 * all words.
 * @throws Refusal `unknown_word` and `word_count` as `parseWords` does; `recovery_checksum` where the
 *   checksum does not fit, as with all but one of 2^32 wrong papers
 */
export function parsePaper(typed: string): Uint8Array {
  const { indices } = parseWords(typed, PAPER_WORDS)
  const message = 'the words do not fit together; a word or their order is wrong'
  demand(fits(indices), 'recovery_checksum', message)
  return bytesOf(indices).slice(0, SEED)
}

/** How many words the list has: 12 bits each. */
const LIST = 4096

/**
 * Locates the slip in 24 words with a wrong checksum: the place, from 0, of the one word that
 * is wrong, or of the first of two neighbours that changed places; null for more than that. One of
 * 40,000 answers is by chance. Takes up to a second.
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
 * The recovery key of a paper's seed, 32 bytes.
 * @throws Refusal `bad_length`
 */
export const recoveryKeyOf = (seed: Uint8Array): KeyPair => signingKeyFrom(recoveryKeySeed(seed))

/**
 * The seed of the recovery key, 32 bytes (RFC 8032), of a paper's seed.
 * @throws Refusal `bad_length`
 */
export function recoveryKeySeed(seed: Uint8Array): Uint8Array {
  requireLength(seed, SEED, 'a recovery seed')
  return hkdf(sha256, seed, undefined, utf8ToBytes('countersign/v2/recovery-key'), 32)
}

const checksumOf = (seed: Uint8Array): Uint8Array =>
  sha256(labelled('countersign/v2/recovery', seed)).subarray(0, CHECKSUM)
