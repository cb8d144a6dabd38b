/**
 * The recovery paper (section 3): a seed of 256 bits and a checksum of 32 as 24 list words. From the
 * seed follows the recovery key, an Ed25519 key that can vouch for a reset of the account.
 */
import { equalBytes } from '@noble/curves/utils.js'
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { requireLength, labelled } from './hash-input.ts'
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
  const bytes = bytesOf(parseWords(typed, PAPER_WORDS).indices)
  const [seed, checksum] = [bytes.slice(0, SEED), bytes.subarray(SEED)]
  const fits = equalBytes(checksum, checksumOf(seed))
  demand(fits, 'recovery_checksum', 'the words do not fit together; a word or their order is wrong')
  return seed
}

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
