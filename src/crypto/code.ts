/**
 * Codes (section 2): the words that a speaker says in one minute. Every holder of K can compute both
 * directions; the speaker is inside the MAC, so one's own words never answer for the other side.
 */
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { type Label, labelled, requireLength, u32be } from './encoding/hash-input.ts'
import { KEPT_WORDS, keepKey, newKeptHmac } from './kept-hmac.ts'
import { demand } from './refusal.ts'

export const LABEL = {
  connection: 'countersign/v2/code',
  guest: 'countersign/v2/guest',
  public: 'countersign/v2/public',
} as const satisfies Record<string, Label>

const SPEAKER = 16

/** Length of a window in seconds. */
export const PERIOD_S = 60

/** The head of subjects without a roster: guest codes and the public code. */
export const ZERO_HEAD: Uint8Array = new Uint8Array(32)

/** Unix milliseconds in, the window out. */
export function windowOf(unixMs: number): number {
  return Math.floor(unixMs / (PERIOD_S * 1000))
}

/**
 * Unix milliseconds in, the windows out whose codes are accepted then: those of the minute before
 * and after too, since two clocks differ and speaking takes time.
 */
export function acceptedAt(unixMs: number): number[] {
  const window = windowOf(unixMs)
  return [window - 1, window, window + 1]
}

/**
 * The code key of one epoch. In: K (`key`, 32 bytes), the 16 bytes of the subject's id, the epoch
 * (0 to 2^32 − 1), the hash of the roster entry that opened it (32 bytes, or `ZERO_HEAD`). Out: 32
 * bytes.
 * @throws Refusal `bad_length`, `bad_value`
 */
export function codeKey(of: {
  label: Label
  key: Uint8Array
  subject: Uint8Array
  epoch: number
  head: Uint8Array
}): Uint8Array {
  requireLength(of.key, 32, 'K')
  requireLength(of.subject, 16, 'a subject')
  requireLength(of.head, 32, 'a head')
  return hkdf(sha256, of.key, of.subject, labelled(of.label, u32be(of.epoch), of.head), 32)
}

const MESSAGE = 1 + 8 + SPEAKER
const mac = newKeptHmac(MESSAGE)
mac.message.setUint8(0, 1)

/**
 * A code as one number of 36 bits, for whoever computes them by the hundred thousand: under the code key that `keepKey` kept at
 * `at`, for the speaker whose 16 bytes begin at `from`. Less than a microsecond. Throws `bad_value` for a window that is not an
 * integer from 0 to 2^53 − 1.
 */
export function codeUnder(
  kept: Uint32Array,
  at: number,
  window: number,
  speakers: Uint8Array,
  from: number,
): number {
  demand(Number.isSafeInteger(window) && window >= 0, 'bad_value', 'a window is a whole number')
  const { message } = mac
  message.setUint32(1, Math.floor(window / 2 ** 32))
  message.setUint32(5, window % 2 ** 32)
  for (let i = 0; i < SPEAKER; i++) message.setUint8(9 + i, speakers[from + i]!)
  return mac.first36(kept, at)
}

/** A code as a number in, its three word indices out. */
export const indicesOf = (code: number): [number, number, number] => [
  Math.floor(code / 2 ** 24),
  (code >>> 12) & 0xfff,
  code & 0xfff,
]

/** Three word indices in, the code as a number out. */
export const codeOf = ([a = 0, b = 0, c = 0]: readonly number[]): number =>
  (a * 2 ** 12 + b) * 2 ** 12 + c

/**
 * A reader of codes under one code key (32 bytes, as `codeKey` gives it): window and speaker (16
 * bytes) in, three word indices out. Throws `bad_value` for a window that is not an integer from 0
 * to 2^53 − 1 and `bad_length` for a speaker of another size.
 */
export function codeReader(
  kc: Uint8Array,
): (window: number, speaker: Uint8Array) => [number, number, number] {
  const kept = new Uint32Array(KEPT_WORDS)
  keepKey(kc, kept, 0)
  return (window, speaker) => {
    demand(speaker.length === SPEAKER, 'bad_length', 'a speaker is 16 bytes')
    return indicesOf(codeUnder(kept, 0, window, speaker, 0))
  }
}
