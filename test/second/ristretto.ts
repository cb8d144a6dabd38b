/** ristretto255 (RFC 9496) with BigInt. */
import { type Bytes, order } from './bytes.ts'
import {
  add,
  D,
  littleEndian,
  mod,
  multiply,
  P,
  type Point,
  power,
  ROOT_OF_MINUS_ONE,
  toLittleEndian,
} from './edwards.ts'

const A = P - 1n
const isNegative = (x: bigint): boolean => (x & 1n) === 1n
const absolute = (x: bigint): bigint => (isNegative(x) ? P - x : x)

/** Computes SQRT_RATIO_M1 (RFC 9496, section 4.2). */
function sqrtRatio(u: bigint, v: bigint): { square: boolean; root: bigint } {
  let r = mod(u * power(v, 3n) * power(u * power(v, 7n), (P - 5n) / 8n))
  const check = mod(v * r * r)
  const [plus, minus] = [mod(u), mod(-u)]
  const turned = check === minus || check === mod(-u * ROOT_OF_MINUS_ONE)
  if (turned) r = mod(r * ROOT_OF_MINUS_ONE)
  return { square: check === plus || check === minus, root: absolute(r) }
}

const INVSQRT_A_MINUS_D = sqrtRatio(1n, mod(A - D)).root
const SQRT_AD_MINUS_ONE = (() => {
  const root = sqrtRatio(mod(A * D - 1n), 1n).root
  return isNegative(root) ? root : P - root
})()
const ONE_MINUS_D_SQ = mod(1n - D * D)
const D_MINUS_ONE_SQ = mod((D - 1n) * (D - 1n))

/** Decodes an element (RFC 9496, section 4.3.1); null for an invalid encoding. */
export function decode(data: Bytes): Point | null {
  if (data.length !== 32) return null
  const s = littleEndian(data)
  if (s >= P || isNegative(s)) return null
  const ss = mod(s * s)
  const u1 = mod(1n - ss)
  const u2 = mod(1n + ss)
  const v = mod(-(D * u1 * u1) - u2 * u2)
  const { square, root } = sqrtRatio(1n, mod(v * u2 * u2))
  const denX = mod(root * u2)
  const denY = mod(root * denX * v)
  const x = absolute(mod(2n * s * denX))
  const y = mod(u1 * denY)
  const t = mod(x * y)
  if (!square || isNegative(t) || y === 0n) return null
  return { x, y, z: 1n, t }
}

/** Encodes an element (RFC 9496, section 4.3.2). */
export function encode(point: Point): Bytes {
  const { x: x0, y: y0, z: z0, t: t0 } = point
  const u1 = mod((z0 + y0) * (z0 - y0))
  const u2 = mod(x0 * y0)
  const { root } = sqrtRatio(1n, mod(u1 * u2 * u2))
  const den1 = mod(root * u1)
  const den2 = mod(root * u2)
  const zInv = mod(den1 * den2 * t0)
  const rotate = isNegative(mod(t0 * zInv))
  const x = rotate ? mod(y0 * ROOT_OF_MINUS_ONE) : x0
  let y = rotate ? mod(x0 * ROOT_OF_MINUS_ONE) : y0
  const den = rotate ? mod(den1 * INVSQRT_A_MINUS_D) : den2
  if (isNegative(mod(x * zInv))) y = mod(-y)
  return toLittleEndian(absolute(mod(den * (z0 - y))))
}

/** Maps 64 bytes to an element, one-way (RFC 9496, section 4.3.4). */
export const fromUniform = (data: Bytes): Point =>
  add(mapHalf(data.slice(0, 32)), mapHalf(data.slice(32)))

function mapHalf(data: Bytes): Point {
  const t = mod(littleEndian(data) & (2n ** 255n - 1n))
  const r = mod(ROOT_OF_MINUS_ONE * t * t)
  const u = mod((r + 1n) * ONE_MINUS_D_SQ)
  const v = mod((-1n - r * D) * (r + D))
  const found = sqrtRatio(u, v)
  const s = found.square ? found.root : mod(-absolute(mod(found.root * t)))
  const c = found.square ? P - 1n : r
  const n = mod(c * (r - 1n) * D_MINUS_ONE_SQ - v)
  const w0 = mod(2n * s * v)
  const w1 = mod(n * SQRT_AD_MINUS_ONE)
  const w2 = mod(1n - s * s)
  const w3 = mod(1n + s * s)
  return { x: mod(w0 * w3), y: mod(w2 * w1), z: mod(w1 * w3), t: mod(w0 * w2) }
}

const IDENTITY_ENCODED = new Uint8Array(32)

/** Computes scalar_mult of a scalar in 32 little-endian bytes. */
export const times = (scalar: Bytes, point: Point): Bytes =>
  encode(multiply(littleEndian(scalar), point))

/**
 * Computes scalar_mult_vfy of CPace.
 * @returns null if the element is invalid or the result is the identity
 */
export function timesVerified(scalar: Bytes, encoded: Bytes): Bytes | null {
  const point = decode(encoded)
  if (point === null) return null
  const result = times(scalar, point)
  return order(result, IDENTITY_ENCODED) === 0 ? null : result
}
