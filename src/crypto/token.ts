/**
 * API tokens (section 8): `csd_` (a device's API) or `csm_` (machines of the account server). A
 * token has 30 characters of secret, and 6 of CRC-32, so that a typing error or a scanner's false
 * hit is recognised without a look-up. The check is no security measure.
 */
import { randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { requireThat } from './refusal.ts'

type TokenPrefix = 'csd_' | 'csm_'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BODY = 30
const CHECK = 6
const LENGTH = 4 + BODY + CHECK

/** Returns a new token from 32 random bytes; 40 characters. */
export function newToken(prefix: TokenPrefix): string {
  return tokenFrom(prefix, randomBytes(32))
}

/**
 * Returns the token of a derived secret of 32 or more uniformly random bytes. The result is the
 * same each time. The body is the number of these bytes modulo 62^30, so its bias is below 2^-77.
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

/** Returns the last `width` digits of a number, left-padded with 0. */
function base62(number: bigint, width: number): string {
  let text = ''
  for (let rest = number; text.length < width; rest /= 62n) {
    text = ALPHABET.charAt(Number(rest % 62n)) + text
  }
  return text
}

/** CRC-32 of IEEE 802.3: reflected, polynomial 0xEDB88320, start and final value all ones. */
function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
