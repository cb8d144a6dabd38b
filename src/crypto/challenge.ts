/**
 * Words for one listener and one purpose (section 2). The listener's device draws one list word,
 * the challenge, and the listener reads it aloud; the speaker enters it and reads three words
 * aloud.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { indicesOf } from './code.ts'
import { requireLength, u64be } from './encoding/hash-input.ts'
import { keepKey, KEPT_WORDS, newKeptHmac } from './kept-hmac.ts'
import { requireThat } from './refusal.ts'
import { firstIndices } from './words.ts'

/** In code points, after normalisation. */
const LONGEST = 64

/**
 * The purpose of a challenge (section 2): the subject of a call, as both sides hash it. Both
 * display the normalised text, since it may differ from the typed text: `pay12000to1234`.
 */
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

/** Separates these codes from the codes for all listeners, with messages that begin with 0x01. */
const DOMAIN = 0x02
/** A challenge is one word of the list. */
const CHALLENGES = 4096

export type ChallengeInput = {
  readonly window: number
  /** The account ids, 16 bytes each. */
  readonly speaker: Uint8Array
  readonly listener: Uint8Array
  /** The index of the listener's word. */
  readonly challenge: number
  readonly purpose: Purpose
}

/** Returns the index of a new word for a listener to read aloud. */
export const newChallenge = (): number => firstIndices(randomBytes(2), 1)[0]!

const [WINDOW, SPEAKER, LISTENER, CHALLENGE, PURPOSE, END] = [1, 9, 25, 41, 43, 75] as const
const mac = newKeptHmac(END)
mac.message.setUint8(0, DOMAIN)

/** Writes a part of the message. The part has the length of its place. */
function write(part: Uint8Array, at: number): void {
  for (let i = 0; i < part.length; i++) mac.message.setUint8(at + i, part[i]!)
}

/**
 * Returns a function that computes the three word indices of a challenge under one code key. The
 * key has 32 bytes, as `codeKey` returns it. A call takes a few microseconds.
 * @throws Refusal `bad_length`; `bad_value` for a window that is not an integer from 0 to 2^53
 *   − 1 or a challenge that is no word index
 */
export function challengeReader(kc: Uint8Array): (of: ChallengeInput) => number[] {
  const kept = new Uint32Array(KEPT_WORDS)
  keepKey(kc, kept, 0)
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
    return indicesOf(mac.first36(kept, 0))
  }
}
