/** Tests that Ed25519 of node:crypto and of noble sign alike and accept the same signatures. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ed25519 as noble } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'
import fc from 'fast-check'
import { ed25519, ed25519ByNoble, isPrimeOrder } from '../../src/crypto/ed25519.ts'

const engines = [ed25519, ed25519ByNoble] as const
const { Point, utils } = noble
const { ORDER } = Point.Fn

const littleEndian = (number: bigint) =>
  new Uint8Array(Buffer.from(number.toString(16).padStart(64, '0'), 'hex').reverse())
const numberOf = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)

/** Returns a signature with any R; `nonce` is the logarithm of its component of prime order. */
function signatureWith(R: Uint8Array, nonce: bigint, message: Uint8Array, seed: Uint8Array) {
  const { scalar, pointBytes } = utils.getExtendedPublicKey(seed)
  const k = numberOf(sha512(Buffer.concat([R, pointBytes, message]))) % ORDER
  return new Uint8Array([...R, ...littleEndian((nonce + k * scalar) % ORDER)])
}

/** Returns what both accept, if they agree. */
function acceptedByBoth(signature: Uint8Array, message: Uint8Array, key: Uint8Array): boolean {
  const [one, other] = engines.map((engine) => engine.verify(signature, message, key))
  assert.equal(one, other)
  return one!
}

const seeds = fc.uint8Array({ minLength: 32, maxLength: 32 })
const messages = fc.uint8Array({ maxLength: 300 })

test('Node uses node:crypto', () => {
  assert.notEqual(ed25519, ed25519ByNoble)
})

test('both make the same keys and signatures, and accept them', () => {
  fc.assert(
    fc.property(seeds, messages, (seed, message) => {
      const [key, other] = engines.map((engine) => engine.publicKey(seed))
      assert.deepEqual(key, other)
      const [signature, same] = engines.map((engine) => engine.sign(message, seed))
      assert.deepEqual(signature, same)
      assert.ok(acceptedByBoth(signature!, message, key!))
    }),
    { numRuns: 50 },
  )
})

test('both reject a signature with any bit changed', () => {
  fc.assert(
    fc.property(seeds, messages, fc.nat(511), (seed, message, bit) => {
      const signature = Uint8Array.from(engines[0].sign(message, seed))
      signature[bit >> 3]! ^= 1 << (bit & 7)
      assert.ok(!acceptedByBoth(signature, message, engines[0].publicKey(seed)))
    }),
    { numRuns: 100 },
  )
})

test('both reject S plus L, R with a component of small order, and a neutral R', () => {
  const [seed, message] = [sha512(new Uint8Array([1])).subarray(0, 32), new Uint8Array([2])]
  const key = engines[0].publicKey(seed)
  const signature = engines[0].sign(message, seed)
  const S = numberOf(signature.subarray(32))
  const malleable = new Uint8Array([...signature.subarray(0, 32), ...littleEndian(S + ORDER)])
  assert.ok(!acceptedByBoth(malleable, message, key))

  const torsion = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05')
  for (let times = 0n, small = Point.ZERO; times < 8n; times++, small = small.add(torsion)) {
    const made = signatureWith(Point.BASE.multiply(17n).add(small).toBytes(), 17n, message, seed)
    assert.equal(acceptedByBoth(made, message, key), times === 0n)
    // Each of these verifies in libraries that check the cofactored equation alone.
    assert.ok(!acceptedByBoth(signatureWith(small.toBytes(), 0n, message, seed), message, key))
  }
  // y = 1 with the sign bit of x, and y = p + 1: other encodings of the neutral element.
  for (const R of ['01'.padEnd(62, '0') + '80', 'ee'.padEnd(62, 'f') + '7f']) {
    const bytes = new Uint8Array(Buffer.from(R, 'hex'))
    assert.ok(!acceptedByBoth(signatureWith(bytes, 0n, message, seed), message, key))
  }
})

test('both agree about each vector of Wycheproof with a key of prime order', () => {
  const path = new URL('vectors/wycheproof-ed25519.json', import.meta.url)
  type Vector = { pk: string; msg: string; sig: string; result: string; comment: string }
  const vectors = JSON.parse(readFileSync(path, 'utf8')) as Vector[]
  const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
  const good = vectors.filter(({ pk, sig }) => isPrimeOrder(bytes(pk)) && sig.length === 128)
  assert.ok(good.length > 100)
  for (const { pk, msg, sig, result, comment } of good)
    assert.equal(acceptedByBoth(bytes(sig), bytes(msg), bytes(pk)), result === 'valid', comment)
})
