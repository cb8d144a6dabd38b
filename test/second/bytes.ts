/**
 * Bytes, hashes and refusals of the second implementation.
 * It is written only from the text of protocol 2, uses node:crypto and `hpke`, and imports
 * nothing of `src/`.
 */
import { createHash, createHmac, hkdfSync } from 'node:crypto'

/** A broken rule of the protocol; `reason` is a name of `test/testkit2/README.md`. */
export class Refused extends Error {
  readonly reason: string
  constructor(reason: string, detail = '') {
    super(detail === '' ? reason : `${reason}: ${detail}`)
    this.reason = reason
  }
}

/** Throws `reason` unless `condition` holds. */
export function need(condition: boolean, reason: string): asserts condition {
  if (!condition) throw new Refused(reason)
}

export type Bytes = Uint8Array

export const concat = (...parts: readonly Bytes[]): Bytes => new Uint8Array(Buffer.concat(parts))
export const utf8 = (text: string): Bytes => new Uint8Array(Buffer.from(text, 'utf8'))
/** Returns a label and the zero byte after it. */
export const label = (text: string): Bytes => utf8(`${text}\0`)
export const hex = (data: Bytes): string => Buffer.from(data).toString('hex')
export const unhex = (text: string): Bytes => new Uint8Array(Buffer.from(text, 'hex'))
export const base64url = (data: Bytes): string => Buffer.from(data).toString('base64url')
export const same = (a: Bytes, b: Bytes): boolean => Buffer.from(a).equals(b)
/** Compares unsigned bytes. */
export const order = (a: Bytes, b: Bytes): number => Buffer.compare(a, b)

/**
 * Decodes base64url that re-encodes to the same characters.
 * @throws Refused `respelt_base64`
 */
export function fromBase64url(text: string): Bytes {
  const data = new Uint8Array(Buffer.from(text, 'base64url'))
  need(base64url(data) === text, 'respelt_base64')
  return data
}

const bigEndian = (value: number, length: number): Bytes =>
  unhex(
    BigInt(value)
      .toString(16)
      .padStart(length * 2, '0'),
  )
export const u16be = (value: number): Bytes => bigEndian(value, 2)
export const u32be = (value: number): Bytes => bigEndian(value, 4)
export const u64be = (value: number): Bytes => bigEndian(value, 8)

const hash = (name: string, parts: readonly Bytes[]): Bytes => {
  const state = createHash(name)
  for (const part of parts) state.update(part)
  return new Uint8Array(state.digest())
}
export const sha256 = (...parts: readonly Bytes[]): Bytes => hash('sha256', parts)
export const sha512 = (...parts: readonly Bytes[]): Bytes => hash('sha512', parts)
export const hmac = (name: 'sha256' | 'sha512', key: Bytes, data: Bytes): Bytes =>
  new Uint8Array(createHmac(name, key).update(data).digest())
export const hkdf = (ikm: Bytes, salt: Bytes, info: Bytes, length: number): Bytes =>
  new Uint8Array(hkdfSync('sha256', ikm, salt, info, length))
