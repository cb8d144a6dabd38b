/**
 * Words for one listener and one purpose (section 2). The listener's device draws one list word,
 * the challenge, and the listener reads it aloud; the speaker enters it and reads three words
 * aloud.
 */
import { randomBytes } from '@noble/hashes/utils.js'
import { indicesOf } from './code.ts'
import { requireLength, u64be } from './encoding/hash-input.ts'
import { KEPT_WORDS, keepKey, newKeptHmac } from './kept-hmac.ts'
import type { Purpose } from './purpose.ts'
import { requireThat } from './refusal.ts'
import { firstIndices } from './words.ts'

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
    requireThat(isWord, 'bad_value', `no word has the index ${challenge}`)
    write(u64be(window), WINDOW)
    write(speaker, SPEAKER)
    write(listener, LISTENER)
    mac.message.setUint16(CHALLENGE, challenge)
    write(purpose.sha256, PURPOSE)
    return indicesOf(mac.first36(kept, 0))
  }
}
