/**
 * Base64url without padding (RFC 4648 section 5), strictly canonical.
 *
 * Each value has exactly one valid spelling, because hashes and words are computed over the text.
 */
import { Refusal } from '../refusal.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const VALUE = new Int8Array(128).fill(-1)
for (let i = 0; i < 64; i++) VALUE[ALPHABET.charCodeAt(i)] = i

/** Encodes bytes as unpadded base64url. */
export function encodeBase64url(bytes: Uint8Array): string {
  let text = ''
  let accumulator = 0
  let bits = 0
  for (const byte of bytes) {
    accumulator = ((accumulator << 8) | byte) & 0xffff
    bits += 8
    while (bits >= 6) {
      bits -= 6
      text += ALPHABET.charAt((accumulator >> bits) & 63)
    }
  }
  return bits > 0 ? text + ALPHABET.charAt((accumulator << (6 - bits)) & 63) : text
}

/**
 * Decodes unpadded base64url.
 * @throws Refusal `respelt_base64` for any text that does not encode to the same characters again:
 * padding, white space, the standard alphabet, non-zero pad bits, an incomplete last group
 */
export function decodeBase64url(text: string): Uint8Array {
  const bytes = new Uint8Array((text.length * 6) >> 3)
  let accumulator = 0
  let bits = 0
  let at = 0
  for (let i = 0; i < text.length; i++) {
    const value = VALUE[text.charCodeAt(i)] ?? -1
    if (value < 0) throw respelt()
    accumulator = ((accumulator << 6) | value) & 0x3fff
    bits += 6
    if (bits >= 8) {
      bits -= 8
      bytes[at++] = accumulator >> bits
    }
  }
  // RFC 4648 section 3.5: pad bits must be zero. If six bits are left over, the last character
  // encodes no byte.
  if (bits === 6 || (accumulator & ((1 << bits) - 1)) !== 0) throw respelt()
  return bytes
}

const respelt = () => new Refusal('respelt_base64', 'not canonical base64url')
