/**
 * The purpose of a challenge (section 7): what a call is about, as both sides hash it. Both show
 * the normalised text, since it may read differently from what was typed: `pay12000to1234`.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { demand } from './refusal.ts'

/** In code points, after normalisation. */
const LONGEST = 64

export type Purpose = {
  /** The normalised text, to be shown; empty where no purpose was given. */
  readonly shown: string
  /** SHA-256 of its UTF-8. */
  readonly sha256: Uint8Array
}

/** A purpose from its normalised text, which `readPurpose` returned earlier. */
export const purposeOf = (shown: string): Purpose => ({ shown, sha256: sha256(utf8ToBytes(shown)) })

/**
 * Normalises what a person typed: NFKC, lower case without locale, final sigma as sigma, letters
 * (\p{L}) and decimal digits (\p{Nd}) kept. Linear in the input; the caller limits its length.
 * @throws Refusal `lone_surrogate`; `too_long` for more than 64 code points after that
 */
export function readPurpose(typed: string): Purpose {
  demand(typed.isWellFormed(), 'lone_surrogate', 'half a surrogate pair')
  const shown = typed
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(/[^\p{L}\p{Nd}]/gu, '')
  const { length } = Array.from(shown)
  const fits = length <= LONGEST
  demand(fits, 'too_long', `${length} letters and digits; a purpose has at most ${LONGEST}`)
  return purposeOf(shown)
}
