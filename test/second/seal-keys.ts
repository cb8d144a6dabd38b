/** Sealing keys beside a key log, valid or with a single fault. */
import { type Bytes, concat, unhex } from './bytes.ts'
import type { Random } from './random.ts'

const Q = 3329
/** The coefficients of the ML-KEM half. */
const COEFFICIENTS = 768
const PQ_PUBLIC = 1184

/** The points of low order on Curve25519 and its twist, the spellings above p included. */
const LOW_ORDER = [
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
  '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
].map(unhex)

type Make = (key: Bytes, of: Random) => Bytes
/** The kinds of keys, each with the reason of the kit or `accepted`. */
const KINDS: Readonly<Record<string, readonly [string, Make]>> = {
  valid: ['accepted', (key) => key],
  'hash of another key': ['hash_mismatch', (key) => key],
  'a coefficient below q': [
    'accepted',
    (key, of) => withCoefficient(key, of.below(COEFFICIENTS), of.below(Q)),
  ],
  'the coefficient q or above': [
    'not_sealable',
    (key, of) => withCoefficient(key, of.below(COEFFICIENTS), Q + of.below(4096 - Q)),
  ],
  shorter: ['not_sealable', (key, of) => key.slice(0, of.below(key.length))],
  longer: ['not_sealable', (key, of) => concat(key, of.bytes(1 + of.below(64)))],
  'another X25519 half': ['accepted', (key, of) => concat(key.slice(0, PQ_PUBLIC), of.bytes(32))],
  'an X25519 half of low order': [
    'not_sealable',
    (key, of) => concat(key.slice(0, PQ_PUBLIC), highBit(of, of.pick(LOW_ORDER))),
  ],
  'random bytes': ['not_sealable', (key, of) => of.bytes(key.length)],
}
export const SEAL_KEYS = Object.keys(KINDS)

/** Returns a key of this kind, one of `SEAL_KEYS`, made from a valid one of 1,216 bytes. */
export function sealKey(of: Random, kind: string, valid: Bytes): { data: Bytes; reason: string } {
  const [reason, make] = KINDS[kind]!
  return { data: make(valid, of), reason }
}

/** Returns the key with one of its coefficients of 12 bits, little-endian, replaced. */
function withCoefficient(key: Bytes, at: number, value: number): Bytes {
  const copy = key.slice()
  const from = Math.floor(at / 2) * 3
  const three = copy[from]! | (copy[from + 1]! << 8) | (copy[from + 2]! << 16)
  const shift = (at % 2) * 12
  const next = (three & ~(4095 << shift)) | (value << shift)
  copy.set([next & 255, (next >> 8) & 255, (next >> 16) & 255], from)
  return copy
}

/** Returns the point, sometimes with the bit set that X25519 ignores. */
function highBit(of: Random, u: Bytes): Bytes {
  const copy = u.slice()
  if (of.below(2) === 0) copy[31]! |= 0x80
  return copy
}
