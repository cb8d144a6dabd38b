/**
 * Ed25519 (RFC 8032). In Node the module of the standard library computes it, twelve times as fast
 * as JavaScript; in a browser, noble does. Both accept the same signatures.
 */
import { ed25519 as noble } from '@noble/curves/ed25519.js'
import { encodeBase64url } from './encoding/base64url.ts'
import { memo } from './encoding/memo.ts'

interface Ed25519 {
  /** Returns the public key of a seed, both 32 bytes. */
  publicKey(seed: Uint8Array): Uint8Array
  /** Returns the signature of a message with a seed of 32 bytes, 64 bytes. */
  sign(message: Uint8Array, seed: Uint8Array): Uint8Array
  /**
   * Whether 64 bytes are a signature of a message under a public key that `isPrimeOrder` accepts. S
   * must be below L, and R a canonical point of order L.
   */
  verify(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean
}

/** The functions of node:crypto that are used here. Keys and signatures are DER or raw bytes. */
interface NodeCrypto {
  createPrivateKey(key: { key: Uint8Array; format: 'der'; type: 'pkcs8' }): NodeKey
  createPublicKey(key: NodeKey | { key: Uint8Array; format: 'der'; type: 'spki' }): NodeKey
  sign(algorithm: null, message: Uint8Array, key: NodeKey): Uint8Array
  verify(algorithm: null, message: Uint8Array, key: NodeKey, signature: Uint8Array): boolean
}

interface NodeKey {
  export(options: { format: 'der'; type: 'spki' }): Uint8Array
}

/** What precedes a seed in PKCS #8 and a public key in SPKI (RFC 8410 sections 4 and 7). */
const PKCS8 = new Uint8Array([48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32])
const SPKI = new Uint8Array([48, 42, 48, 5, 6, 3, 43, 101, 112, 3, 33, 0])

function joined(prefix: Uint8Array, key: Uint8Array): Uint8Array {
  const der = new Uint8Array(prefix.length + 32)
  der.set(prefix)
  der.set(key, prefix.length)
  return der
}

/** Whether 32 bytes encode the neutral element (y = 1), the only point of order 1. */
const isNeutral = (bytes: Uint8Array) => bytes[0] === 1 && bytes.every((b, i) => i === 0 || b === 0)

function byNode(node: NodeCrypto): Ed25519 {
  function privateKey(seed: Uint8Array): NodeKey {
    const key = joined(PKCS8, seed)
    try {
      return node.createPrivateKey({ key, format: 'der', type: 'pkcs8' })
    } finally {
      key.fill(0)
    }
  }
  return {
    publicKey: (seed) => {
      const key = node.createPublicKey(privateKey(seed))
      return new Uint8Array(key.export({ format: 'der', type: 'spki' }).subarray(SPKI.length))
    },
    sign: (message, seed) => new Uint8Array(node.sign(null, message, privateKey(seed))),
    // OpenSSL compares R with the encoding of S·B − h·A. The public key has order L, so R has it
    // too, or is the neutral element.
    verify: (signature, message, publicKey) => {
      const key = joined(SPKI, publicKey)
      return (
        node.verify(
          null,
          message,
          node.createPublicKey({ key, format: 'der', type: 'spki' }),
          signature,
        ) && !isNeutral(signature.subarray(0, 32))
      )
    },
  }
}

/** Ed25519 in JavaScript, for platforms without node:crypto. */
export const ed25519ByNoble: Ed25519 = {
  publicKey: (seed) => noble.getPublicKey(seed),
  sign: (message, seed) => noble.sign(message, seed),
  // noble checks the cofactored equation of RFC 8032 section 5.1.7. With a public key and an R of
  // order L, both equations are equivalent.
  verify: (signature, message, publicKey) =>
    noble.verify(signature, message, publicKey, { zip215: false }) &&
    isPrimeOrder(signature.subarray(0, 32)),
}

/** `process` of Node, which browsers lack. */
const { process } = globalThis as {
  process?: { getBuiltinModule?(name: 'node:crypto'): NodeCrypto }
}

const node = process?.getBuiltinModule?.('node:crypto')

export const ed25519: Ed25519 = node === undefined ? ed25519ByNoble : byNode(node)

/**
 * Whether 32 bytes are the canonical encoding of an Ed25519 point of order L. Small-order keys
 * verify signatures that were never made. On a key or an R with a torsion component the
 * cofactored and the cofactorless equation of RFC 8032 section 5.1.7 disagree, and so would two
 * verifiers.
 */
export function isPrimeOrder(bytes: Uint8Array): boolean {
  try {
    const point = noble.Point.fromBytes(bytes, false)
    return !point.isSmallOrder() && point.isTorsionFree()
  } catch {
    return false
  }
}

const goodKey = memo(8192)

/** Like `isPrimeOrder`, which takes 0.9 ms, but cached: few keys sign all entries of a log. */
export const isSigningKey = (publicKey: Uint8Array): boolean =>
  goodKey(encodeBase64url(publicKey), () => isPrimeOrder(publicKey))
