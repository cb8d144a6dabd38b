/**
 * The purpose of a challenge (section 2): the subject of a call, as both sides hash it. Both
 * display the normalised text, since it may differ from the typed text: `pay12000to1234`.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { requireThat } from './refusal.ts'

/** In code points, after normalisation. */
const LONGEST = 64

export type Purpose = {
  /** The normalised text, to be displayed; empty if no purpose was given. */
  readonly shown: string
  /** SHA-256 of its UTF-8. */
  readonly sha256: Uint8Array
}

/** Returns a purpose from its normalised text, which `readPurpose` returned earlier. */
export const purposeOf = (shown: string): Purpose => ({ shown, sha256: sha256(utf8ToBytes(shown)) })

/**
 * Normalises typed text. It applies NFKC, lower case without locale, and final sigma as sigma,
 * and keeps letters (\p{L}) and decimal digits (\p{Nd}). Linear in the input; the caller limits
 * its length.
 * @throws Refusal `lone_surrogate`; `too_long` for more than 64 code points after that
 */
export function readPurpose(typed: string): Purpose {
  requireThat(typed.isWellFormed(), 'lone_surrogate', 'half a surrogate pair')
  const shown = typed
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(/[^\p{L}\p{Nd}]/gu, '')
  const { length } = Array.from(shown)
  const fits = length <= LONGEST
  requireThat(fits, 'too_long', `${length} letters and digits; a purpose has at most ${LONGEST}`)
  return purposeOf(shown)
}
