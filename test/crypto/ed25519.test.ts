/** Tests that Ed25519 of node:crypto and of noble sign alike and accept the same signatures. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ed25519 as noble } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'
import fc from 'fast-check'
import { ed25519, ed25519ByNoble, isPrimeOrder } from '../../src/crypto/ed25519.ts'
import { bytesOf, littleEndian, NONCE, nonceWith, signatureWith, TORSION } from './crafted.ts'

const engines = [ed25519, ed25519ByNoble] as const
const { Point } = noble
const { ORDER } = Point.Fn

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
  const S = littleEndian(signature.subarray(32))
  const malleable = new Uint8Array([...signature.subarray(0, 32), ...bytesOf(S + ORDER)])
  assert.ok(!acceptedByBoth(malleable, message, key))

  const made = (R: Uint8Array, nonce: bigint) => signatureWith({ R, nonce, message, seed })
  for (let times = 0n, small = Point.ZERO; times < 8n; times++, small = small.add(TORSION)) {
    assert.equal(acceptedByBoth(made(nonceWith(small), NONCE), message, key), times === 0n)
    // Each of these verifies in libraries that check the cofactored equation alone.
    assert.ok(!acceptedByBoth(made(small.toBytes(), 0n), message, key))
  }
  // y = 1 with the sign bit of x, and y = p + 1: other encodings of the neutral element.
  for (const R of ['01'.padEnd(62, '0') + '80', 'ee'.padEnd(62, 'f') + '7f'])
    assert.ok(!acceptedByBoth(made(new Uint8Array(Buffer.from(R, 'hex')), 0n), message, key))
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
