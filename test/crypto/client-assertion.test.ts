/** Tests client assertions: each rule of RFC 7523 section 3, with a valid and an invalid case. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import {
  readAssertion,
  signAssertion,
  verifyAssertion,
} from '../../src/crypto/jose/client-assertion.ts'
import { signProof } from '../../src/crypto/jose/dpop.ts'
import { thumbprint, type PublicJwk } from '../../src/crypto/jose/jwk.ts'
import { parseCompact } from '../../src/crypto/jose/jws.ts'
import { signCompact } from '../../src/crypto/jose/jws-signature.ts'
import type { RefusalReason } from '../../src/crypto/refusal.ts'
import { newDevice } from './builders.ts'

const [own, other] = [newDevice().keys.auth, newDevice().keys.auth]
const machine = newId(ID_PREFIX.machine, Date.now())
const now = 1767225600
const audience = 'https://example.com/oauth/token'
const expected = { publicKey: own.jwk, audiences: ['https://example.com', audience], now }
const header = { alg: 'Ed25519', typ: 'JWT', kid: thumbprint(own.jwk) }
const claims = { iss: machine, sub: machine, aud: audience, iat: now, exp: now + 60, jti: 'j' }

type Change = { header?: object; claims?: object }
/** Returns an assertion with changed members. JSON omits a member that is undefined. */
const assertionOf = (change: Change = {}) =>
  signCompact({ ...header, ...change.header }, { ...claims, ...change.claims }, own.secret)

describe('an assertion', () => {
  test('has the form of RFC 7523 section 3', async () => {
    const made = await signAssertion({ machine, audience, at: now }, own)
    const { header: head, payload } = parseCompact(made)
    assert.deepEqual(Object.fromEntries(head), header)
    const { jti, ...answer } = Object.fromEntries(payload)
    const { jti: _, ...wanted } = claims
    assert.deepEqual(answer, wanted)
    assert.equal(Buffer.from(jti as string, 'base64url').length, 16)
    assert.deepEqual(readAssertion(made), { machine, kid: header.kid })
    assert.deepEqual(await verifyAssertion(made, expected), { machine, jti, exp: now + 60 })
  })
  test('differs each time, and has the requested lifetime', async () => {
    const of = { machine, audience, at: now, lifetimeS: 300 }
    const [one, two] = [await signAssertion(of, own), await signAssertion(of, own)]
    const found = [await verifyAssertion(one, expected), await verifyAssertion(two, expected)]
    assert.notEqual(found[0]!.jti, found[1]!.jti)
    assert.equal(found[0]!.exp, now + 300)
    const short = await signAssertion({ ...of, lifetimeS: 1 }, own)
    assert.equal((await verifyAssertion(short, expected)).exp, now + 1)
  })
  const unmade: [string, object, object, RefusalReason][] = [
    ['for a device', { machine: 'dev_01kdvdnxgdewwbp9bd48c3mnb1' }, {}, 'bad_value'],
    ['for longer than five minutes', { lifetimeS: 301 }, {}, 'bad_value'],
    ['with a lifetime of 0', { lifetimeS: 0 }, {}, 'bad_value'],
    ['with a lifetime of half a second', { lifetimeS: 0.5 }, {}, 'bad_value'],
    ['at half a second', { at: now + 0.5 }, {}, 'bad_value'],
    ['under a short secret', {}, { secret: own.secret.subarray(1) }, 'bad_length'],
  ]
  for (const [name, of, key, reason] of unmade) {
    test(`is not made ${name}: ${reason}`, () =>
      assert.rejects(signAssertion({ machine, audience, at: now, ...of }, { ...own, ...key }), {
        reason,
      }))
  }
})

describe('accepted', () => {
  const table: [string, Change][] = [
    ['unchanged', {}],
    ['the older name of the algorithm', { header: { alg: 'EdDSA' } }],
    ['no typ', { header: { typ: undefined } }],
    ['typ in small letters', { header: { typ: 'jwt' } }],
    ['no kid', { header: { kid: undefined } }],
    ['the other name of the server as audience', { claims: { aud: 'https://example.com' } }],
    ['several audiences', { claims: { aud: ['https://example.org', audience] } }],
    ['unknown claims', { claims: { scope: 'read', extra: [{}] } }],
    ['no iat', { claims: { iat: undefined } }],
    ['iat a minute ahead', { claims: { iat: now + 60 } }],
    ['iat long ago', { claims: { iat: 0 } }],
    ['nbf a minute ahead', { claims: { nbf: now + 60 } }],
    ['exp five minutes ahead', { claims: { exp: now + 300 } }],
    ['the same by a clock a minute ahead', { claims: { iat: now + 60, exp: now + 360 } }],
    ['exp less than a minute ago', { claims: { exp: now - 59 } }],
    ['jti of 200 characters', { claims: { jti: 'x'.repeat(200) } }],
  ]
  for (const [name, change] of table) {
    test(name, async () => {
      const found = await verifyAssertion(assertionOf(change), expected)
      assert.deepEqual(found, {
        machine,
        jti: claims.jti,
        exp: claims.exp,
        ...Object.fromEntries(
          Object.entries(change.claims ?? {}).filter(([of]) => of === 'jti' || of === 'exp'),
        ),
      })
    })
  }
})

describe('refused', () => {
  const wrongId = newId(ID_PREFIX.machine, Date.now())
  // prettier-ignore
  const table: [string, Change, RefusalReason, object?][] = [
    ['1: no iss', { claims: { iss: undefined } }, 'missing_member'],
    ['1: another iss', { claims: { iss: wrongId } }, 'sub_mismatch'],
    ['2: no sub', { claims: { sub: undefined } }, 'missing_member'],
    ['2: another sub', { claims: { sub: wrongId } }, 'sub_mismatch'],
    ['2: no machine', { claims: { iss: 'me', sub: 'me' } }, 'bad_value'],
    ['3: no aud', { claims: { aud: undefined } }, 'missing_member'],
    ['3: another aud', { claims: { aud: 'https://example.org' } }, 'wrong_audience'],
    ['3: aud in another spelling', { claims: { aud: 'HTTPS://example.com' } }, 'wrong_audience'],
    ['3: only other audiences', { claims: { aud: ['a', 'b'] } }, 'wrong_audience'],
    ['3: an empty aud', { claims: { aud: [] } }, 'wrong_audience'],
    ['3: aud without texts', { claims: { aud: [audience, 1] } }, 'bad_value'],
    ['3: no expected audiences', {}, 'wrong_audience', { audiences: [] }],
    ['4: no exp', { claims: { exp: undefined } }, 'missing_member'],
    ['4: exp a minute ago', { claims: { exp: now - 60 } }, 'expired'],
    ['4: exp in milliseconds', { claims: { exp: now * 1000 } }, 'expires_too_late'],
    ['4: exp over five minutes and the leeway ahead', { claims: { exp: now + 361 } }, 'expires_too_late'],
    ['4: exp that is text', { claims: { exp: `${now}` } }, 'bad_value'],
    ['4: exp between two seconds', { claims: { exp: now + 0.5 } }, 'bad_value'],
    ['5: nbf over a minute ahead', { claims: { nbf: now + 61 } }, 'not_yet_valid'],
    ['5: nbf that is null', { claims: { nbf: null } }, 'bad_value'],
    ['6: iat over a minute ahead', { claims: { iat: now + 61 } }, 'not_yet_valid'],
    ['6: iat that is text', { claims: { iat: `${now}` } }, 'bad_value'],
    ['7: no jti', { claims: { jti: undefined } }, 'missing_member'],
    ['7: an empty jti', { claims: { jti: '' } }, 'bad_jti'],
    ['7: jti of 201 characters', { claims: { jti: 'x'.repeat(201) } }, 'bad_jti'],
    ['9: another key', { header: { kid: undefined } }, 'bad_signature', { publicKey: other.jwk }],
    ['9: a sealing key', { header: { kid: undefined } }, 'bad_key', { publicKey: { ...other.jwk, crv: 'X25519' } as unknown as PublicJwk }],
    ['9: no alg', { header: { alg: undefined } }, 'missing_header'],
    ['9: alg none', { header: { alg: 'none' } }, 'wrong_alg'],
    ['9: a shared secret', { header: { alg: 'HS256' } }, 'wrong_alg'],
    ['the kid of another', { header: { kid: thumbprint(other.jwk) } }, 'kid_mismatch'],
    ['kid that is no text', { header: { kid: 1 } }, 'bad_value'],
    ['another typ', { header: { typ: 'dpop+jwt' } }, 'wrong_typ'],
    ['typ that is null', { header: { typ: null } }, 'bad_value'],
    ['a key in the header', { header: { jwk: own.jwk } }, 'extra_header'],
    ['crit', { header: { crit: ['exp'] } }, 'extra_header'],
  ]
  for (const [name, change, reason, here] of table) {
    test(`${name}: ${reason}`, () =>
      assert.rejects(verifyAssertion(assertionOf(change), { ...expected, ...here }), {
        name: 'Refusal',
        reason,
      }))
  }
  test('rejects a proof by the same key', async () => {
    const proof = await signProof({ method: 'POST', url: audience, at: now }, own)
    await assert.rejects(verifyAssertion(proof, expected), { reason: 'extra_header' })
    assert.throws(() => readAssertion(proof), { reason: 'extra_header' })
  })
  test('rejects a repeated claim, and another signature', async () => {
    const [head, , signature] = assertionOf().split('.') as [string, string, string]
    const body = `{"sub":"${machine}",${JSON.stringify(claims).slice(1)}`
    const twice = `${head}.${encodeBase64url(Buffer.from(body))}.${signature}`
    assert.throws(() => readAssertion(twice), { reason: 'duplicate_member' })
    const [, later] = assertionOf({ claims: { exp: now + 90 } }).split('.') as [string, string]
    const mixed = `${head}.${later}.${signature}`
    assert.deepEqual(readAssertion(mixed), { machine, kid: header.kid })
    await assert.rejects(verifyAssertion(mixed, expected), { reason: 'bad_signature' })
  })
  test('rejects a private key for the verification', async () => {
    const publicKey = { ...own.jwk, d: encodeBase64url(own.secret) } as PublicJwk
    await assert.rejects(verifyAssertion(assertionOf(), { ...expected, publicKey }), {
      reason: 'unknown_member',
    })
  })
})
