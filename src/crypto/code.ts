/**
 * Computes codes (section 2): a speaker's three words for one minute.
 *
 * Every device that has K can compute the codes of both sides. The MAC covers the speaker's id, so
 * a user's own words never verify as the words of the other side.
 */
import { hkdf } from '@noble/hashes/hkdf.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { type Label, labelled, requireLength, u32be } from './encoding/hash-input.ts'
import { KEPT_WORDS, keepKey, newKeptHmac } from './kept-hmac.ts'
import { requireThat } from './refusal.ts'

export const LABEL = {
  connection: 'countersign/v2/code',
  guest: 'countersign/v2/guest',
  public: 'countersign/v2/public',
} as const satisfies Record<string, Label>

const SPEAKER = 16

/** Length of a window in seconds. */
export const PERIOD_S = 60

/** The value of `head` for a subject without a roster: a guest code or the public code. */
export const ZERO_HEAD: Uint8Array = new Uint8Array(32)

/** Returns the window of a time in Unix milliseconds. */
export function windowOf(unixMs: number): number {
  return Math.floor(unixMs / (PERIOD_S * 1000))
}

/**
 * Returns the windows of the codes that are accepted at a time in Unix milliseconds.
 *
 * These are the current window, the previous one and the next one, because clocks differ and
 * speaking takes time.
 */
export function acceptedAt(unixMs: number): number[] {
  const window = windowOf(unixMs)
  return [window - 1, window, window + 1]
}

/**
 * Derives the code key of one epoch (32 bytes).
 * @param of `key`: K, 32 bytes; `subject`: the subject's id as 16 bytes; `epoch`: 0 to 2^32 − 1;
 * `head`: the hash of the roster entry that opened the epoch (32 bytes), or `ZERO_HEAD`
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
 * Computes a code as one 36-bit number, in less than a microsecond.
 *
 * Allocates no memory, because some callers compute hundreds of thousands of codes. `midstates`
 * must contain the code key at index `at`, as `keepKey` stored it. `speakers` must contain the
 * speaker's 16 bytes from index `from`.
 * @throws Refusal `bad_value` for a window that is not an integer from 0 to 2^53 − 1
 */
export function codeUnder(
  midstates: Uint32Array,
  at: number,
  window: number,
  speakers: Uint8Array,
  from: number,
): number {
  requireThat(
    Number.isSafeInteger(window) && window >= 0,
    'bad_value',
    'a window must be a whole number',
  )
  const { message } = mac
  message.setUint32(1, Math.floor(window / 2 ** 32))
  message.setUint32(5, window % 2 ** 32)
  for (let i = 0; i < SPEAKER; i++) message.setUint8(9 + i, speakers[from + i]!)
  return mac.first36(midstates, at)
}

/** Splits a 36-bit code into its three word indices. */
export const indicesOf = (code: number): [number, number, number] => [
  Math.floor(code / 2 ** 24),
  (code >>> 12) & 0xfff,
  code & 0xfff,
]

/** Joins three word indices into a 36-bit code. */
export const codeOf = ([a = 0, b = 0, c = 0]: readonly number[]): number =>
  (a * 2 ** 12 + b) * 2 ** 12 + c

/**
 * Returns a function that computes the three word indices of a code under one code key.
 *
 * The key must have 32 bytes, as `codeKey` returns it. The returned function takes a window and a
 * speaker (16 bytes).
 * @throws Refusal `bad_value` for a window that is not an integer from 0 to 2^53 − 1, `bad_length`
 * for a speaker that is not 16 bytes
 */
export function codeReader(
  kc: Uint8Array,
): (window: number, speaker: Uint8Array) => [number, number, number] {
  const midstates = new Uint32Array(KEPT_WORDS)
  keepKey(kc, midstates, 0)
  return (window, speaker) => {
    requireThat(speaker.length === SPEAKER, 'bad_length', 'a speaker must be 16 bytes')
    return indicesOf(codeUnder(midstates, 0, window, speaker, 0))
  }
}
