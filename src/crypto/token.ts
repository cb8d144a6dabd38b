/**
 * API tokens (section 8): `csd_` for a device's API, `csm_` for machines of the account server.
 *
 * After the prefix, a token has 30 secret characters and 6 characters of CRC-32. With the CRC, a
 * typing error or a secret scanner's false positive is recognised without a look-up. The CRC is not
 * a security measure.
 */
import { randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { requireThat } from './refusal.ts'

type TokenPrefix = 'csd_' | 'csm_'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BODY = 30
const CHECK = 6
const LENGTH = 4 + BODY + CHECK

/** Returns a new token of 40 characters, made from 32 random bytes. */
export function newToken(prefix: TokenPrefix): string {
  return tokenFrom(prefix, randomBytes(32))
}

/**
 * Returns the token of a derived secret: at least 32 uniformly random bytes.
 *
 * The same bytes always give the same token. The 30 characters are the bytes as a number modulo
 * 62^30, so their bias is below 2^-77.
 * @throws Refusal `bad_length` for fewer bytes
 */
export function tokenFrom(prefix: TokenPrefix, bytes: Uint8Array): string {
  requireThat(bytes.length >= 32, 'bad_length', 'a token must be made of 32 or more bytes')
  const number = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
  const start = prefix + base62(number, BODY)
  return start + checkOf(start)
}

/**
 * Checks the text of a token and returns its kind. It does not check whether the token exists.
 * @throws Refusal `length`, `prefix`, `alphabet`, or `check`
 */
export function checkToken(text: string): 'csd' | 'csm' {
  requireThat(text.length === LENGTH, 'length', `a token must have ${LENGTH} characters`)
  const kind = text.slice(0, 3)
  const known = (kind === 'csd' || kind === 'csm') && text[3] === '_'
  requireThat(known, 'prefix', 'a token must begin with csd_ or csm_')
  requireThat(
    /^[0-9A-Za-z]+$/.test(text.slice(4)),
    'alphabet',
    'a token must have only letters and digits',
  )
  const start = text.slice(0, -CHECK)
  requireThat(text.slice(-CHECK) === checkOf(start), 'check', 'the check characters do not match')
  return kind
}

const checkOf = (start: string) => base62(BigInt(crc32(utf8ToBytes(start))), CHECK)

/** Returns the last `width` base-62 digits of a number, padded with `0` on the left. */
function base62(number: bigint, width: number): string {
  let text = ''
  for (let rest = number; text.length < width; rest /= 62n) {
    text = ALPHABET.charAt(Number(rest % 62n)) + text
  }
  return text
}

/** CRC-32 of IEEE 802.3: reflected, polynomial 0xEDB88320, initial and final value all ones. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
