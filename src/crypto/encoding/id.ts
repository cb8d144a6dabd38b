/**
 * Ids: 16 bytes, written as a prefix and 26 characters of lower-case Crockford base32.
 *
 * The encoding is that of a ULID, and each id has exactly one spelling. New ids are UUIDv7 bytes,
 * so they sort by time. Any 16 bytes are a valid id.
 */
import { randomBytes } from '@noble/hashes/utils.js'
import { requireThat } from '../refusal.ts'

/** The prefixes of ids that are inputs of signatures and key derivations. */
export const ID_PREFIX = {
  account: 'acc_',
  device: 'dev_',
  connection: 'con_',
  guest: 'gst_',
  stamp: 'stm_',
  machine: 'mch_',
} as const

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const BODY = 26

/**
 * Returns the text of an id of 16 bytes.
 * @throws Refusal `length` for another number of bytes
 */
export function formatId(prefix: string, bytes: Uint8Array): string {
  requireThat(bytes.length === 16, 'length', 'an id must be 16 bytes')
  let text = ''
  // 26 characters encode 130 bits. The two extra bits come first and are zero, as in a ULID.
  let accumulator = 0
  let bits = 2
  for (const byte of bytes) {
    accumulator = ((accumulator << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET.charAt((accumulator >> bits) & 31)
    }
  }
  return prefix + text
}

/**
 * Returns the 16 bytes of an id.
 * @throws Refusal `prefix`, `length`, `upper_case`, `alphabet`, or `overflow` (a first character
 * above 7 would need more than 128 bits)
 */
export function parseId(prefix: string, text: string): Uint8Array {
  requireThat(text.startsWith(prefix), 'prefix', `this id must begin with ${prefix}`)
  const body = text.slice(prefix.length)
  requireThat(body.length === BODY, 'length', `an id must have ${BODY} characters after ${prefix}`)
  requireThat(!/[A-Z]/.test(body), 'upper_case', 'an id must be lower case')
  const bytes = new Uint8Array(16)
  let accumulator = 0
  let bits = -2
  let at = 0
  for (let i = 0; i < BODY; i++) {
    const value = ALPHABET.indexOf(body.charAt(i))
    requireThat(value >= 0, 'alphabet', 'an id must be written in Crockford base32')
    requireThat(i > 0 || value < 8, 'overflow', 'the first character of an id must be at most 7')
    accumulator = ((accumulator << 5) | value) & 0xfff
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes[at++] = accumulator >> bits
    }
  }
  return bytes
}

const BODY_FORM = new RegExp(`^[0-7][${ALPHABET}]{${BODY - 1}}$`)

/** Whether `text` is exactly one id with this prefix. */
export function isId(prefix: string, text: string): boolean {
  return text.startsWith(prefix) && BODY_FORM.test(text.slice(prefix.length))
}

/**
 * Returns the smallest possible id of a time in Unix milliseconds, which must be below 2^48.
 *
 * It sorts after every new id of an earlier millisecond, and before every new id of this
 * millisecond or a later one.
 */
export function firstIdAt(prefix: string, unixMs: number): string {
  const bytes = new Uint8Array(16)
  const view = new DataView(bytes.buffer)
  view.setUint16(0, Math.floor(unixMs / 2 ** 32))
  view.setUint32(2, unixMs % 2 ** 32)
  return formatId(prefix, bytes)
}

/** A request for random bytes costs more than the rest of an id, so it is made for 64 ids. */
const POOL_BYTES = 64 * 16
let pool = new Uint8Array(0)

/** Returns 16 random bytes. */
function random16(): Uint8Array {
  if (pool.length === 0) pool = randomBytes(POOL_BYTES)
  const bytes = pool.subarray(0, 16)
  pool = pool.subarray(16)
  return bytes
}

const latest = { ms: -1, counter: 0 }

/**
 * Returns a new id with a prefix at a time in Unix milliseconds.
 *
 * The ids of one process always increase, even within one millisecond and after the clock was set
 * back.
 */
export function newId(prefix: string, unixMs: number): string {
  const bytes = random16()
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  if (unixMs > latest.ms) {
    // RFC 9562 section 6.2, method 1: a 12-bit counter. It starts at a random value with a zero top
    // bit.
    latest.ms = Math.floor(unixMs)
    latest.counter = view.getUint16(6) & 0x7ff
  } else if (latest.counter < 0xfff) {
    latest.counter += 1
  } else {
    latest.ms += 1
    latest.counter = 0
  }
  // RFC 9562 section 5.7: 48 bits of time, version 7, the counter, variant 10, random bits.
  view.setUint16(0, Math.floor(latest.ms / 2 ** 32))
  view.setUint32(2, latest.ms % 2 ** 32)
  view.setUint16(6, 0x7000 | latest.counter)
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f))
  return formatId(prefix, bytes)
}
