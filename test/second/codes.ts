/** Section 2: codes, challenges and purposes. */
import {
  type Bytes,
  concat,
  hkdf,
  hmac,
  label,
  need,
  sha256,
  u16be,
  u32be,
  u64be,
  utf8,
} from './bytes.ts'
import { indicesOf } from './words.ts'

export interface CodeKey {
  readonly label: string
  readonly key: Bytes
  readonly subject: Bytes
  readonly epoch: number
  readonly head: Bytes
}

/** kc. */
export const codeKey = (of: CodeKey): Bytes =>
  hkdf(of.key, of.subject, concat(label(of.label), u32be(of.epoch), of.head), 32)

/** Returns three words of a speaker, as indices. */
export const code = (kc: Bytes, window: number, speaker: Bytes): number[] =>
  indicesOf(hmac('sha256', kc, concat(Uint8Array.of(1), u64be(window), speaker)), 3)

export interface Asked {
  readonly window: number
  readonly speaker: Bytes
  readonly listener: Bytes
  /** Index of the one word that the listener chose. */
  readonly challenge: number
  /** The purpose as typed; the empty string if there is none. */
  readonly purpose: string
}

/** Returns three words for one listener and one purpose (section 2). */
export function mac2(kc: Bytes, of: Asked): number[] {
  const data = concat(
    Uint8Array.of(2),
    u64be(of.window),
    of.speaker,
    of.listener,
    u16be(of.challenge),
    sha256(utf8(purposeShown(of.purpose))),
  )
  return indicesOf(hmac('sha256', kc, data), 3)
}

/**
 * Returns the purpose as both sides show it.
 * @throws Refused `lone_surrogate`, `too_long`
 */
export function purposeShown(typed: string): string {
  need(typed.isWellFormed(), 'lone_surrogate')
  const lower = typed.normalize('NFKC').toLowerCase().replaceAll('ς', 'σ')
  const stored = Array.from(lower).filter((character) => /[\p{L}\p{Nd}]/u.test(character))
  need(stored.length <= 64, 'too_long')
  return stored.join('')
}
