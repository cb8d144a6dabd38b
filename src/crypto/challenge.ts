/**
 * Computes words for one listener and one purpose (section 2).
 *
 * The listener's device draws one random list word, the challenge, and the listener reads it aloud.
 * The speaker types the challenge into their device and then reads three words aloud.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { indicesOf } from './code.ts'
import { requireLength, u64be } from './encoding/hash-input.ts'
import { keepKey, KEPT_WORDS, newKeptHmac } from './kept-hmac.ts'
import { requireThat } from './refusal.ts'
import { firstIndices } from './words.ts'

/** The maximum length of a purpose in code points, after normalisation. */
const LONGEST = 64

/**
 * The purpose of a challenge (section 2): what a call is about. Both sides hash it.
 *
 * Both devices display the normalised text because it can differ from the typed text. Example:
 * `pay12000to1234`.
 */
export type Purpose = {
  /** The normalised text to display; empty if no purpose was given. */
  readonly shown: string
  /** SHA-256 of the UTF-8 bytes of `shown`. */
  readonly sha256: Uint8Array
}

/** Returns the purpose of a text that `readPurpose` has already normalised. */
export const purposeOf = (shown: string): Purpose => ({ shown, sha256: sha256(utf8ToBytes(shown)) })

/**
 * Normalises a typed purpose.
 *
 * Applies NFKC, converts to lower case independently of the locale, replaces final sigma with
 * sigma, and keeps only letters (\p{L}) and decimal digits (\p{Nd}). The run time is linear in the
 * length of the input, which the caller must limit.
 * @throws Refusal `lone_surrogate`; `too_long` if more than 64 code points remain
 */
export function readPurpose(typed: string): Purpose {
  requireThat(typed.isWellFormed(), 'lone_surrogate', 'a lone surrogate')
  const shown = typed
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(/[^\p{L}\p{Nd}]/gu, '')
  const { length } = Array.from(shown)
  const fits = length <= LONGEST
  requireThat(
    fits,
    'too_long',
    `it has ${length} letters and digits; at most ${LONGEST} are allowed`,
  )
  return purposeOf(shown)
}

/** The first byte of the MAC input. Messages of codes for all listeners begin with 0x01. */
const DOMAIN = 0x02
/** The number of possible challenges: one for each word of the list. */
const CHALLENGES = 4096

export type ChallengeInput = {
  readonly window: number
  /** The account ids, 16 bytes each. */
  readonly speaker: Uint8Array
  readonly listener: Uint8Array
  /** The index of the word that the listener reads aloud. */
  readonly challenge: number
  readonly purpose: Purpose
}

/** Returns the index of a random list word, which the listener reads aloud. */
export const newChallenge = (): number => firstIndices(randomBytes(2), 1)[0]!

const [WINDOW, SPEAKER, LISTENER, CHALLENGE, PURPOSE, END] = [1, 9, 25, 41, 43, 75] as const
const mac = newKeptHmac(END)
mac.message.setUint8(0, DOMAIN)

/** Copies a part into the MAC message. The part must have the length of its field. */
function write(part: Uint8Array, at: number): void {
  for (let i = 0; i < part.length; i++) mac.message.setUint8(at + i, part[i]!)
}

/**
 * Returns a function that computes the three word indices of a challenge under one code key.
 *
 * The key must have 32 bytes, as `codeKey` returns it. One call takes a few microseconds.
 * @throws Refusal `bad_length`; `bad_value` for a window that is not an integer from 0 to 2^53 − 1,
 * or for a challenge that is not a word index
 */
export function challengeReader(kc: Uint8Array): (of: ChallengeInput) => number[] {
  const midstates = new Uint32Array(KEPT_WORDS)
  keepKey(kc, midstates, 0)
  return ({ window, speaker, listener, challenge, purpose }) => {
    requireLength(speaker, 16, 'a speaker')
    requireLength(listener, 16, 'a listener')
    const isWord = Number.isInteger(challenge) && challenge >= 0 && challenge < CHALLENGES
    requireThat(isWord, 'bad_value', `the word list has no index ${challenge}`)
    write(u64be(window), WINDOW)
    write(speaker, SPEAKER)
    write(listener, LISTENER)
    mac.message.setUint16(CHALLENGE, challenge)
    write(purpose.sha256, PURPOSE)
    return indicesOf(mac.first36(midstates, 0))
  }
}
