/** edwards25519 with BigInt: RFC 8032, section 5.1, and the points of "Ed25519 everywhere". */
import { createPublicKey, verify } from 'node:crypto'
import { base64url, type Bytes, hex, unhex } from './bytes.ts'

export const P = 2n ** 255n - 19n
export const L = 2n ** 252n + 27742317777372353535851937790883648493n
export const mod = (a: bigint, m: bigint = P): bigint => ((a % m) + m) % m

export function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let square = mod(base), rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % P
    square = (square * square) % P
  }
  return result
}
export const inverse = (a: bigint): bigint => power(a, P - 2n)
export const D = mod(-121665n * inverse(121666n))
export const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n)

/** Extended coordinates (X : Y : Z : T) with T = XY/Z. */
export interface Point {
  readonly x: bigint
  readonly y: bigint
  readonly z: bigint
  readonly t: bigint
}
export const IDENTITY: Point = { x: 0n, y: 1n, z: 1n, t: 0n }

/** Adds points (RFC 8032, section 5.1.4); complete, so that it doubles too. */
export function add(p: Point, q: Point): Point {
  const a = ((p.y - p.x) * (q.y - q.x)) % P
  const b = ((p.y + p.x) * (q.y + q.x)) % P
  const c = (2n * p.t * q.t * D) % P
  const d = (2n * p.z * q.z) % P
  const [e, f, g, h] = [b - a, d - c, d + c, b + a]
  return { x: mod(e * f), y: mod(g * h), z: mod(f * g), t: mod(e * h) }
}

export function multiply(scalar: bigint, point: Point): Point {
  let result = IDENTITY
  for (let rest = scalar, double = point; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = add(result, double)
    double = add(double, double)
  }
  return result
}

export const isIdentity = (p: Point): boolean => p.x === 0n && p.y === p.z

export const littleEndian = (data: Bytes): bigint => BigInt(`0x${hex(data.toReversed())}`)
export const toLittleEndian = (value: bigint): Bytes =>
  unhex(value.toString(16).padStart(64, '0')).toReversed()

/** Returns the point of a canonical encoding (RFC 8032, section 5.1.3), or null. */
export function decodePoint(data: Bytes): Point | null {
  if (data.length !== 32) return null
  const both = littleEndian(data)
  const [y, sign] = [both & (2n ** 255n - 1n), both >> 255n]
  if (y >= P) return null
  const square = mod((y * y - 1n) * inverse(D * y * y + 1n))
  let x = power(square, (P + 3n) / 8n)
  if ((x * x) % P !== square) x = (x * ROOT_OF_MINUS_ONE) % P
  if ((x * x) % P !== square) return null
  if (x === 0n && sign === 1n) return null
  if ((x & 1n) !== sign) x = P - x
  return { x, y, z: 1n, t: mod(x * y) }
}

const judged = new Map<string, boolean>()

/** Returns whether bytes are a canonical encoding of a point of order exactly L. */
export function isPublicKey(data: Bytes): boolean {
  const name = hex(data)
  let known = judged.get(name)
  if (known === undefined) {
    const point = decodePoint(data)
    known = point !== null && !isIdentity(point) && isIdentity(multiply(L, point))
    judged.set(name, known)
  }
  return known
}

const IDENTITY_HEX = `01${'00'.repeat(31)}`

/**
 * Verifies a signature ("Ed25519 everywhere"): S < L; R and A canonical and of order L.
 * If A is valid, OpenSSL’s equation without the cofactor gives R = SB - kA, which is then in the
 * subgroup, and OpenSSL compares R as bytes. So only the identity as R is still to be refused.
 */
export function verifySignature(key: Bytes, message: Bytes, signature: Bytes): boolean {
  if (signature.length !== 64 || !isPublicKey(key)) return false
  if (littleEndian(signature.slice(32)) >= L) return false
  if (hex(signature.slice(0, 32)) === IDENTITY_HEX) return false
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: base64url(key) }
  return verify(null, message, createPublicKey({ key: jwk, format: 'jwk' }), signature)
}
