/** Ed25519 signatures and keys that no honest program makes, such as points with torsion. */
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'

const { Point, utils } = ed25519
const { ORDER } = Point.Fn

/** A point of order 8. */
export const TORSION = Point.fromHex(
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
)

/** The logarithm of `R` in these signatures, without its torsion component. */
export const NONCE = 17n

/** Returns `NONCE` times the base point plus another point, 32 bytes. */
export const nonceWith = (other: typeof Point.ZERO): Uint8Array =>
  Point.BASE.multiply(NONCE).add(other).toBytes()

/** Returns the number that bytes encode, little-endian. */
export const littleEndian = (bytes: Uint8Array): bigint =>
  BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

/** Returns the 32 bytes of a number, little-endian. */
export const bytesOf = (number: bigint): Uint8Array =>
  new Uint8Array(Buffer.from(number.toString(16).padStart(64, '0'), 'hex').reverse())

/**
 * Returns a signature (64 bytes) with any R.
 * @param of `nonce`: the logarithm of R, without its torsion component; `key`: the public key that
 *   is hashed, by default that of the seed
 */
export function signatureWith(of: {
  R: Uint8Array
  message: Uint8Array
  seed: Uint8Array
  nonce?: bigint
  key?: Uint8Array
}): Uint8Array {
  const { scalar, pointBytes } = utils.getExtendedPublicKey(of.seed)
  const { R, message, nonce = NONCE, key = pointBytes } = of
  const k = littleEndian(sha512(Buffer.concat([R, key, message]))) % ORDER
  return new Uint8Array([...R, ...bytesOf((nonce + k * scalar) % ORDER)])
}
