/**
 * Words for one listener and one purpose (section 7). The listener's device draws one list word,
 * the challenge, which the listener says; the speaker enters it and says three words.
 */
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, randomBytes } from '@noble/hashes/utils.js'
import { requireLength, u64be } from './hash-input.ts'
import type { Purpose } from './purpose.ts'
import { demand } from './refusal.ts'
import { firstIndices } from './words.ts'

/** What tells these codes from those for everyone, whose messages begin with 0x01. */
const DOMAIN = 0x02
/** A challenge is one word of the list. */
const CHALLENGES = 4096

export type Challenge = {
  readonly window: number
  /** The account ids, 16 bytes each. */
  readonly speaker: Uint8Array
  readonly listener: Uint8Array
  /** The index of the listener's word. */
  readonly challenge: number
  readonly purpose: Purpose
}

/** The index of a new word for a listener to say. */
export const newChallenge = (): number => firstIndices(randomBytes(2), 1)[0]!

/**
 * A reader of such words under one code key (32 bytes, as `codeKey` gives it): three word indices
 * out.
 * @throws Refusal `bad_length`; `bad_value` for a window that is not an integer from 0 to 2^53 − 1
 *   or a challenge that no word has
 */
export function challengeReader(kc: Uint8Array): (of: Challenge) => number[] {
  requireLength(kc, 32, 'a code key')
  const keyed = hmac.create(sha256, kc)
  return ({ window, speaker, listener, challenge, purpose }) => {
    requireLength(speaker, 16, 'a speaker')
    requireLength(listener, 16, 'a listener')
    const isWord = Number.isInteger(challenge) && challenge >= 0 && challenge < CHALLENGES
    demand(isWord, 'bad_value', `no word has the index ${challenge}`)
    const u16 = Uint8Array.of(challenge >> 8, challenge & 0xff)
    const head = concatBytes(Uint8Array.of(DOMAIN), u64be(window), speaker, listener, u16)
    const mac = keyed.clone().update(head).update(purpose.sha256).digest()
    return firstIndices(mac, 3)
  }
}
