/** Section 3: X-Wing keys beside the log, and X-Wing alone, by node:crypto. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  decapsulate,
  diffieHellman,
  type KeyObject,
} from 'node:crypto'
import { type Bytes, concat, need, same, sha256, unhex, utf8 } from './bytes.ts'

const PQ_PUBLIC = 1184
const PQ_CIPHERTEXT = 1088
const PUBLIC = 1216
/** FIPS 203, section 7.2: every coefficient of the key is below q. */
const Q = 3329
const COEFFICIENT_BYTES = 1152

const privateX25519 = (scalar: Bytes): KeyObject =>
  createPrivateKey({
    key: Buffer.from(concat(unhex('302e020100300506032b656e04220420'), scalar)),
    format: 'der',
    type: 'pkcs8',
  })
const publicX25519 = (u: Bytes): KeyObject =>
  createPublicKey({
    key: Buffer.from(concat(unhex('302a300506032b656e032100'), u)),
    format: 'der',
    type: 'spki',
  })
const ownScalar = privateX25519(sha256(utf8('any scalar shows a low order')))

/**
 * Checks the bytes that are sent beside the log.
 * @throws Refused `hash_mismatch`, `not_sealable`
 */
export function checkSealKey(data: Bytes, hash: Bytes): void {
  need(same(sha256(data), hash), 'hash_mismatch')
  need(data.length === PUBLIC, 'not_sealable')
  for (let i = 0; i < COEFFICIENT_BYTES; i += 3) {
    const three = data[i]! | (data[i + 1]! << 8) | (data[i + 2]! << 16)
    need((three & 4095) < Q && three >> 12 < Q, 'not_sealable')
  }
  need(!isLowOrder(data.slice(PQ_PUBLIC)), 'not_sealable')
}

/**
 * Returns whether a point is of low order: OpenSSL refuses the shared secret of zeros that only
 * these give.
 */
function isLowOrder(u: Bytes): boolean {
  try {
    diffieHellman({ privateKey: ownScalar, publicKey: publicX25519(u) })
    return false
  } catch {
    return true
  }
}

/** Decapsulates X-Wing with the 32-byte key; returns the public key and the shared secret. */
export function decapsulateXWing(key: Bytes, enc: Bytes): { publicKey: Bytes; secret: Bytes } {
  const expanded = createHash('shake256', { outputLength: 96 }).update(key).digest()
  // ML-KEM-768 private key in its seed form (RFC 9935).
  const pq = createPrivateKey({
    key: Buffer.concat([
      unhex('3054020100300b0609608648016503040402044280' + '40'),
      expanded.subarray(0, 64),
    ]),
    format: 'der',
    type: 'pkcs8',
  })
  const classic = privateX25519(new Uint8Array(expanded.subarray(64)))
  const pqPublic = createPublicKey(pq).export({ format: 'der', type: 'spki' }).subarray(-PQ_PUBLIC)
  const classicPublic = createPublicKey(classic)
    .export({ format: 'der', type: 'spki' })
    .subarray(-32)
  const [pqEnc, classicEnc] = [enc.slice(0, PQ_CIPHERTEXT), enc.slice(PQ_CIPHERTEXT)]
  const pqSecret = decapsulate(pq, pqEnc)
  const classicSecret = diffieHellman({ privateKey: classic, publicKey: publicX25519(classicEnc) })
  const secret = createHash('sha3-256')
    .update(Buffer.concat([pqSecret, classicSecret, classicEnc, classicPublic]))
    .update('\\.//^\\')
    .digest()
  return {
    publicKey: concat(pqPublic, classicPublic),
    secret: new Uint8Array(secret),
  }
}
