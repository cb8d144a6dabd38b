/**
 * Builds the byte strings that protocol 2 hashes and signs.
 *
 * Each one is a label, a zero byte, and parts of fixed length. Two different derivations therefore
 * never hash the same bytes.
 */
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { requireThat } from '../refusal.ts'

/** The form of every label of protocol 2. */
export type Label = `countersign/v2/${string}`

/** Returns `label || 0x00 || parts`. */
export const labelled = (label: Label, ...parts: Uint8Array[]): Uint8Array =>
  concatBytes(utf8ToBytes(label), Uint8Array.of(0), ...parts)

/**
 * Encodes an epoch as an unsigned 32-bit big-endian number.
 * @throws Refusal `bad_value` unless it is an integer from 0 to 2^32 − 1
 */
export function u32be(value: number): Uint8Array {
  const fits = Number.isInteger(value) && value >= 0 && value < 2 ** 32
  requireThat(fits, 'bad_value', 'an epoch must be a whole number below 2^32')
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}

/**
 * Encodes an unsigned 64-bit big-endian number.
 * @throws Refusal `bad_value` unless it is an integer from 0 to 2^53 − 1
 */
export function u64be(value: number): Uint8Array {
  requireThat(Number.isSafeInteger(value) && value >= 0, 'bad_value', `not a count: ${value}`)
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value))
  return bytes
}

/**
 * Checks the length, in bytes, of one input to a derivation.
 * @throws Refusal `bad_length`
 */
export function requireLength(bytes: Uint8Array, length: number, what: string): void {
  requireThat(
    bytes.length === length,
    'bad_length',
    `${what} must be ${length} bytes, not ${bytes.length}`,
  )
}
