/** Section 3: the paper, its key, and the input of the key’s signatures. */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { type Bytes, concat, hkdf, label, need, same, sha256, u64be, utf8, unhex } from './bytes.ts'
import { indicesOf, parseWords, wordsOf } from './words.ts'

const checksum = (seed: Bytes): Bytes => sha256(label('countersign/v2/recovery'), seed).slice(0, 4)

/** Returns the 24 words of a 256-bit seed. */
export const paperOf = (seed: Bytes): string[] =>
  wordsOf(indicesOf(concat(seed, checksum(seed)), 24))

export interface Paper {
  readonly seed: Bytes
  readonly words: readonly string[]
  readonly indices: readonly number[]
  /** Seed of the Ed25519 key. */
  readonly keySeed: Bytes
  readonly publicKey: Bytes
}

/** @throws Refused `unknown_word`, `word_count`, `recovery_checksum` */
export function readPaper(input: string): Paper {
  const { words, indices } = parseWords(input, 24)
  const bits = indices.map((index) => index.toString(2).padStart(12, '0')).join('')
  const data = new Uint8Array(36).map((_, i) => parseInt(bits.slice(i * 8, i * 8 + 8), 2))
  const seed = data.slice(0, 32)
  need(same(checksum(seed), data.slice(32)), 'recovery_checksum')
  const keySeed = recoveryKeySeed(seed)
  return { seed, words, indices, keySeed, publicKey: publicOf(keySeed) }
}

export const recoveryKeySeed = (seed: Bytes): Bytes =>
  hkdf(seed, new Uint8Array(0), utf8('countersign/v2/recovery-key'), 32)

/** Returns the private key of an Ed25519 seed (RFC 8410, section 7). */
export const privateKeyOf = (seed: Bytes) =>
  createPrivateKey({
    key: Buffer.from(concat(unhex('302e020100300506032b657004220420'), seed)),
    format: 'der',
    type: 'pkcs8',
  })

/** Returns the public half of an Ed25519 seed. */
export function publicOf(seed: Bytes): Bytes {
  const jwk = createPublicKey(privateKeyOf(seed)).export({ format: 'jwk' })
  return new Uint8Array(Buffer.from(jwk.x!, 'base64url'))
}

/** Returns the bytes that a recovery key signs; `op` is 1 for reset, 2 for recovery. */
export const recoveryInput = (
  op: 1 | 2,
  account: Bytes,
  seq: number,
  prev: Bytes,
  body: Bytes,
): Bytes =>
  concat(label('countersign/v2/recovery-sig'), Uint8Array.of(op), account, u64be(seq), prev, body)
