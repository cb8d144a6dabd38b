/** Tests invalid signed structures beyond the cases of the test kit. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ed25519 } from '@noble/curves/ed25519.js'
import fc from 'fast-check'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { parseJson, type Json } from '../../src/crypto/encoding/json.ts'
import { jwkBytes, type PublicJwk } from '../../src/crypto/jose/jwk.ts'
import { parseJws } from '../../src/crypto/jose/jws.ts'
import { signJws, verifyJws } from '../../src/crypto/jose/jws-signature.ts'
import type { RefusalReason } from '../../src/crypto/refusal.ts'
import { newDevice } from './builders.ts'
import { nonceWith, signatureWith, TORSION } from './crafted.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)
const refused = (attempt: () => unknown, reason: RefusalReason) =>
  assert.throws(attempt, { reason })

describe('json', () => {
  const plain = (value: Json): unknown =>
    value instanceof Map
      ? Object.fromEntries([...value].map(([name, member]) => [name, plain(member)]))
      : Array.isArray(value)
        ? value.map(plain)
        : value

  test('reads what JSON.stringify writes, spaced or not', () => {
    const leaf = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.maxSafeInteger(),
      fc.boolean(),
      fc.constant(null),
    )
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small', maxDepth: 3 },
        leaf,
        fc.array(tie('tree')),
        fc.dictionary(fc.string(), tie('tree'), { noNullPrototype: true }),
      ),
    }))
    fc.assert(
      fc.property(tree, fc.nat(2), (value, space) => {
        const text = JSON.stringify({ value }, null, space)
        assert.deepEqual(plain(parseJson(utf8(text))), JSON.parse(text))
      }),
    )
  })
  test('accepts nothing that JSON.parse rejects', () => {
    const text = fc.string({ unit: fc.constantFrom(...'{}[]",:0123-.eE+ \\untrfalse\n'.split('')) })
    fc.assert(
      fc.property(text, (input) => {
        let value: unknown
        try {
          value = plain(parseJson(utf8(input)))
        } catch (error) {
          return assert.equal((error as Error).name, 'Refusal')
        }
        assert.deepEqual(value, JSON.parse(input))
      }),
      { numRuns: 5000 },
    )
  })

  const table: [string, RefusalReason][] = [
    ['{"a":1,"a":1}', 'duplicate_member'],
    ['{"a":1,"\\u0061":1}', 'duplicate_member'],
    ['{"a":{"b":1,"b":2}}', 'duplicate_member'],
    ['{"__proto__":1,"__proto__":2}', 'duplicate_member'],
    ['1.0', 'bad_value'],
    ['1e2', 'bad_value'],
    ['-0', 'bad_value'],
    ['01', 'bad_json'],
    ['{"a":01}', 'bad_json'],
    ['{"a":-01}', 'bad_json'],
    ['[]', 'bad_json'],
    ['null', 'bad_json'],
    ['1', 'bad_json'],
    ['"{}"', 'bad_json'],
    ['9007199254740992', 'bad_value'],
    ['-9007199254740992', 'bad_value'],
    ['\ufeff{}', 'bad_json'],
    ['{} {}', 'bad_json'],
    ['{"a":1,}', 'bad_json'],
    ['[1,]', 'bad_json'],
    ['[1 2]', 'bad_json'],
    ['{a:1}', 'bad_json'],
    ["{'a':1}", 'bad_json'],
    ['"\t"', 'bad_json'],
    ['"\\x61"', 'bad_json'],
    ['NaN', 'bad_json'],
    ['+1', 'bad_json'],
    ['', 'bad_json'],
    ['\u00a0{}', 'bad_json'],
    ['['.repeat(100_000), 'too_deep'],
    ['"\\udc00"', 'lone_surrogate'],
  ]
  for (const [input, reason] of table) {
    test(`${input.slice(0, 40)} is ${reason}`, () => refused(() => parseJson(utf8(input)), reason))
  }
  test('rejects invalid UTF-8', () => {
    refused(() => parseJson(Uint8Array.of(0x22, 0xc3, 0x28, 0x22)), 'bad_utf8')
    refused(() => parseJson(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)), 'bad_utf8')
  })
})

describe('jws', () => {
  const device = newDevice()
  const { secret, jwk } = device.keys.sign
  const jws = signJws('stamp+jws', device.kid, { v: 2 }, secret)

  test('is read back as signed', () => {
    const parsed = parseJws(jws, 'stamp+jws')
    assert.deepEqual([parsed.kid, parsed.payload], [device.kid, new Map([['v', 2]])])
    verifyJws(parsed, jwkBytes(jwk))
  })
  test('is rejected with another key, and with any changed bit', () => {
    const other = jwkBytes(newDevice().keys.sign.jwk)
    refused(() => verifyJws(parseJws(jws, 'stamp+jws'), other), 'bad_signature')
    fc.assert(
      fc.property(
        fc.nat(jws.length - 1),
        fc.constantFrom(...'AQgw059_-.'.split('')),
        (at, character) => {
          const changed = jws.slice(0, at) + character + jws.slice(at + 1)
          if (changed === jws) return
          assert.throws(() => verifyJws(parseJws(changed, 'stamp+jws'), jwkBytes(jwk)), {
            name: 'Refusal',
          })
        },
      ),
    )
  })
  // The owner of a key can make a signature that only the cofactored equation accepts.
  const [{ point }, zero] = [ed25519.utils.getExtendedPublicKey(secret), ed25519.Point.ZERO]
  const table = [
    { name: 'as RFC 8032 makes it', A: point, r: zero, accepted: true },
    { name: 'with a torsion component in R', A: point, r: TORSION, accepted: false },
    {
      name: 'with a torsion component in the key',
      A: point.add(TORSION),
      r: zero,
      accepted: false,
    },
  ]
  for (const { name, A, r, accepted } of table) {
    test(`a signature ${name} is ${accepted ? 'accepted' : 'rejected, as by peers'}`, () => {
      const parsed = parseJws(jws, 'stamp+jws')
      const [key, message] = [A.toBytes(), parsed.signingInput]
      const signature = signatureWith({ R: nonceWith(r), message, seed: secret, key })
      assert.ok(ed25519.verify(signature, parsed.signingInput, key, { zip215: false }))
      const verify = () => verifyJws({ ...parsed, signature }, key)
      if (accepted) verify()
      else refused(verify, 'bad_signature')
    })
  }
  test('needs an object and a seed of 32 bytes', () => {
    const [header, , signature] = jws.split('.')
    const text = [header, encodeBase64url(utf8('"v"')), signature].join('.')
    refused(() => parseJws(text, 'stamp+jws'), 'bad_json')
    refused(() => signJws('stamp+jws', device.kid, {}, new Uint8Array(31)), 'bad_length')
  })
})

describe('jwk', () => {
  const { sign } = newDevice().keys
  const changed = (change: object) => ({ ...sign.jwk, ...change }) as PublicJwk
  const small = '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'
  const table: [string, PublicJwk, RefusalReason][] = [
    ['another curve', changed({ crv: 'X25519' }), 'bad_key'],
    ['another type', changed({ kty: 'EC' }), 'bad_key'],
    ['a private key', changed({ d: sign.jwk.x }), 'unknown_member'],
    ['no x', { kty: 'OKP', crv: 'Ed25519' } as PublicJwk, 'missing_member'],
    ['x that is no text', changed({ x: 1 }), 'bad_value'],
    ['x of 31 bytes', changed({ x: encodeBase64url(new Uint8Array(31)) }), 'bad_value'],
    ['x padded', changed({ x: `${sign.jwk.x}=` }), 'respelt_base64'],
    [
      'a small-order point',
      changed({ x: Buffer.from(small, 'hex').toString('base64url') }),
      'bad_key',
    ],
    ['y above the field', changed({ x: encodeBase64url(new Uint8Array(32).fill(255)) }), 'bad_key'],
  ]
  for (const [name, jwk, reason] of table) {
    test(`${name} is ${reason}`, () => refused(() => jwkBytes(jwk), reason))
  }
  test('is read back', () => {
    assert.equal(encodeBase64url(jwkBytes(sign.jwk)), sign.jwk.x)
  })
})
