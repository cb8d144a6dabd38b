/**
 * Ed25519 (RFC 8032).
 *
 * Node's standard library computes it, which is 12 times as fast as JavaScript. In a browser, the
 * library noble computes it. Both accept the same signatures.
 */
import { ed25519 as noble } from '@noble/curves/ed25519.js'
import { encodeBase64url } from './encoding/base64url.ts'
import { memo } from './encoding/memo.ts'

interface Ed25519 {
  /** Returns the public key (32 bytes) of a seed (32 bytes). */
  publicKey(seed: Uint8Array): Uint8Array
  /** Returns a signature (64 bytes) of a message with a seed (32 bytes). */
  sign(message: Uint8Array, seed: Uint8Array): Uint8Array
  /**
   * Checks a signature (64 bytes) of a message under a public key, which `isPrimeOrder` must
   * accept.
   *
   * A valid S is below L, and a valid R is a canonical point of order L.
   */
  verify(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean
}

/** The functions of node:crypto that this file uses. Keys and signatures are DER or raw bytes. */
interface NodeCrypto {
  createPrivateKey(key: { key: Uint8Array; format: 'der'; type: 'pkcs8' }): NodeKey
  createPublicKey(key: NodeKey | { key: Uint8Array; format: 'der'; type: 'spki' }): NodeKey
  sign(algorithm: null, message: Uint8Array, key: NodeKey): Uint8Array
  verify(algorithm: null, message: Uint8Array, key: NodeKey, signature: Uint8Array): boolean
}

interface NodeKey {
  export(options: { format: 'der'; type: 'spki' }): Uint8Array
}

/**
 * The bytes before a seed in PKCS #8 and before a public key in SPKI (RFC 8410 sections 4 and 7).
 */
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
    // OpenSSL computes S·B − h·A and compares its encoding with R. The public key A has order L, so
    // R has order L too, or it is the neutral element.
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

/** Ed25519 computed in JavaScript, for platforms without node:crypto. */
export const ed25519ByNoble: Ed25519 = {
  publicKey: (seed) => noble.getPublicKey(seed),
  sign: (message, seed) => noble.sign(message, seed),
  // noble checks the cofactored equation of RFC 8032 section 5.1.7, and OpenSSL the cofactorless
  // one. If the public key and R have order L, the two equations are equivalent.
  verify: (signature, message, publicKey) =>
    noble.verify(signature, message, publicKey, { zip215: false }) &&
    isPrimeOrder(signature.subarray(0, 32)),
}

/** Node's `process`, which does not exist in browsers. */
const { process } = globalThis as {
  process?: { getBuiltinModule?(name: 'node:crypto'): NodeCrypto }
}

const node = process?.getBuiltinModule?.('node:crypto')

export const ed25519: Ed25519 = node === undefined ? ed25519ByNoble : byNode(node)

/**
 * Checks whether 32 bytes are the canonical encoding of an Ed25519 point of order L.
 *
 * A key of small order verifies signatures that nobody made. If a key or an R has a torsion
 * component, the cofactored and the cofactorless equation of RFC 8032 section 5.1.7 give different
 * results, so two verifiers could disagree.
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

/**
 * Like `isPrimeOrder`, but cached: the check takes 0.9 ms, and few keys sign all entries of a log.
 */
export const isSigningKey = (publicKey: Uint8Array): boolean =>
  goodKey(encodeBase64url(publicKey), () => isPrimeOrder(publicKey))
