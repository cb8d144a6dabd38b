/** Tests DPoP proofs: each rule of RFC 9449 section 4.3, with a valid and an invalid case. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { signProof, verifyProof } from '../../src/crypto/jose/dpop.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { parseCompact } from '../../src/crypto/jose/jws.ts'
import { signCompact } from '../../src/crypto/jose/jws-signature.ts'
import type { RefusalReason } from '../../src/crypto/refusal.ts'
import { newDevice } from './builders.ts'

const [own, other] = [newDevice().keys.auth, newDevice().keys.auth]
const now = 1767225600
const url = 'https://example.com/device/v1/sync'
const accessToken = 'Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU'
const asked = { method: 'POST', url, accessToken, now }
const header = { alg: 'Ed25519', typ: 'dpop+jwt', jwk: own.jwk }
const ath = createHash('sha256').update(accessToken, 'ascii').digest('base64url')
const claims = { jti: 'e1j3V_bKic8-LAEB', htm: 'POST', htu: url, iat: now, ath }

/** Returns a proof with changed members. JSON omits a member that is undefined. */
const proofOf = (change: { header?: object; claims?: object } = {}) =>
  signCompact({ ...header, ...change.header }, { ...claims, ...change.claims }, own.secret)
const refused = (proof: string, reason: RefusalReason, expected: object = {}) =>
  assert.rejects(verifyProof(proof, { ...asked, ...expected }), { name: 'Refusal', reason })

describe('a proof', () => {
  test('has the form of RFC 9449 section 4.2', async () => {
    const request = { method: 'GET', url: `${url}?after=7#top`, at: now, accessToken, nonce: 'n1' }
    const proof = await signProof(request, own)
    const { header: head, payload } = parseCompact(proof)
    const { jwk, ...rest } = Object.fromEntries(head)
    assert.deepEqual(rest, { alg: 'Ed25519', typ: 'dpop+jwt' })
    assert.deepEqual(Object.fromEntries(jwk as Map<string, string>), own.jwk)
    const { jti, ...answer } = Object.fromEntries(payload)
    assert.deepEqual(answer, { htm: 'GET', htu: url, iat: now, ath, nonce: 'n1' })
    assert.equal(Buffer.from(jti as string, 'base64url').length, 16)
    assert.deepEqual(await verifyProof(proof, { ...asked, method: 'GET' }), {
      thumbprint: thumbprint(own.jwk),
      jti,
      iat: now,
      nonce: 'n1',
    })
  })
  test('differs each time, and has no ath or nonce by default', async () => {
    const request = { method: 'POST', url, at: now }
    const proofs = [await signProof(request, own), await signProof(request, own)]
    const read = proofs.map((proof) => parseCompact(proof).payload)
    assert.notEqual(read[0]!.get('jti'), read[1]!.get('jti'))
    assert.deepEqual([...read[0]!.keys()], ['jti', 'htm', 'htu', 'iat'])
    const { nonce } = await verifyProof(proofs[0]!, { ...asked, accessToken: null })
    assert.equal(nonce, null)
  })
  const unmade: [string, object, object, RefusalReason][] = [
    ['for no URL', { url: '/device/v1/sync' }, {}, 'bad_value'],
    ['for a file', { url: 'file:///etc/passwd' }, {}, 'bad_value'],
    ['at half a second', { at: now + 0.5 }, {}, 'bad_value'],
    ['under a short secret', {}, { secret: own.secret.subarray(1) }, 'bad_length'],
  ]
  for (const [name, request, key, reason] of unmade) {
    test(`is not made ${name}: ${reason}`, () =>
      assert.rejects(signProof({ method: 'GET', url, at: now, ...request }, { ...own, ...key }), {
        reason,
      }))
  }
})

describe('section 4.3: accepted', () => {
  // prettier-ignore
  const table: [string, { header?: object; claims?: object }, object?][] = [
    ['unchanged', {}],
    ['3: unknown claims', { claims: { exp: 1, extra: { a: [null, 'b'] } } }],
    ['5: the older name of the algorithm', { header: { alg: 'EdDSA' } }],
    ['8: another method on both sides', { claims: { htm: 'GET' } }, { method: 'GET' }],
    ['9: a query and a fragment', { claims: { htu: `${url}?a=b#c` } }],
    ['9: a query in the expected URL', {}, { url: `${url}?a=b` }],
    ['9: scheme and host in capitals', { claims: { htu: 'HTTPS://EXAMPLE.com/device/v1/sync' } }],
    ['9: the default port', { claims: { htu: 'https://example.com:443/device/v1/sync' } }],
    ['9: the default port in the expected URL', {}, { url: 'https://example.com:443/device/v1/sync' }],
    ['9: unnecessary escapes', { claims: { htu: 'https://example.com/dev%69ce/v1/%73ync' } }],
    ['9: escapes in lower case', { claims: { htu: 'https://a.b/%e2%82%ac' } }, { url: 'https://a.b/%E2%82%AC' }],
    ['9: dot segments', { claims: { htu: 'https://example.com/x/../device/./v1/sync' } }],
    ['9: no path', { claims: { htu: 'https://example.com' } }, { url: 'https://example.com/' }],
    ['9: another port, and http', { claims: { htu: 'http://[::1]:19822/' } }, { url: 'http://[::1]:19822' }],
    ['10: a nonce, which the caller checks', { claims: { nonce: 'n' } }],
    ['11: a minute old', { claims: { iat: now - 60 } }],
    ['11: a minute ahead', { claims: { iat: now + 60 } }],
    ['12: no ath if there is no token', { claims: { ath: undefined } }, { accessToken: null }],
    ['jti of one character', { claims: { jti: '1' } }],
    ['jti of 200 characters', { claims: { jti: 'x'.repeat(200) } }],
  ]
  for (const [name, change, expected] of table) {
    test(name, async () => {
      const found = await verifyProof(proofOf(change), { ...asked, ...expected })
      assert.equal(found.thumbprint, thumbprint(own.jwk))
    })
  }
})

describe('section 4.3: refused', () => {
  const jwk = (change: object) => ({ header: { jwk: { ...own.jwk, ...change } } })
  const htu = (value: unknown) => ({ claims: { htu: value } })
  // prettier-ignore
  const table: [string, { header?: object; claims?: object }, RefusalReason, object?][] = [
    ['3: no jti', { claims: { jti: undefined } }, 'missing_member'],
    ['3: no htm', { claims: { htm: undefined } }, 'missing_member'],
    ['3: no htu', { claims: { htu: undefined } }, 'missing_member'],
    ['3: no iat', { claims: { iat: undefined } }, 'missing_member'],
    ['3: jti that is no text', { claims: { jti: 7 } }, 'bad_value'],
    ['3: htm that is no text', { claims: { htm: ['POST'] } }, 'bad_value'],
    ['3: htu that is no text', htu(null), 'bad_value'],
    ['3: iat that is text', { claims: { iat: String(now) } }, 'bad_value'],
    ['3: iat between two seconds', { claims: { iat: now + 0.5 } }, 'bad_value'],
    ['3: nonce that is no text', { claims: { nonce: 1 } }, 'bad_value'],
    ['3: ath that is null', { claims: { ath: null } }, 'bad_value'],
    ['4: no typ', { header: { typ: undefined } }, 'missing_header'],
    ['4: another typ', { header: { typ: 'JWT' } }, 'wrong_typ'],
    ['4: the typ of a stamp', { header: { typ: 'stamp+jws' } }, 'wrong_typ'],
    ['5: no alg', { header: { alg: undefined } }, 'missing_header'],
    ['5: alg none', { header: { alg: 'none' } }, 'wrong_alg'],
    ['5: a symmetric alg', { header: { alg: 'HS256' } }, 'wrong_alg'],
    ['5: another alg', { header: { alg: 'ES256' } }, 'wrong_alg'],
    ['6: the key of another', { header: { jwk: other.jwk } }, 'bad_signature'],
    ['7: no key', { header: { jwk: undefined } }, 'missing_header'],
    ['7: a key that is not an object', { header: { jwk: own.jwk.x } }, 'bad_value'],
    ['7: a private key', jwk({ d: encodeBase64url(own.secret) }), 'private_key'],
    ['7: a symmetric key', { header: { jwk: { kty: 'oct', k: 'AAAA' } } }, 'private_key'],
    ['7: a key with a name', jwk({ kid: '1' }), 'unknown_member'],
    ['7: a key without x', jwk({ x: undefined }), 'missing_member'],
    ['7: a sealing key', jwk({ crv: 'X25519' }), 'bad_key'],
    ['7: a key of 31 bytes', jwk({ x: encodeBase64url(new Uint8Array(31)) }), 'bad_value'],
    ['header: a kid', { header: { kid: thumbprint(own.jwk) } }, 'extra_header'],
    ['header: crit', { header: { crit: ['b64'], b64: false } }, 'extra_header'],
    ['8: another method', {}, 'wrong_htm', { method: 'GET' }],
    ['8: the method in lower case', { claims: { htm: 'post' } }, 'wrong_htm'],
    ['9: another path', htu(`${url}s`), 'wrong_htu'],
    ['9: the path in upper case', htu('https://example.com/device/v1/SYNC'), 'wrong_htu'],
    ['9: another host', htu('https://example.org/device/v1/sync'), 'wrong_htu'],
    ['9: another scheme', htu('http://example.com/device/v1/sync'), 'wrong_htu'],
    ['9: another port', htu('https://example.com:8443/device/v1/sync'), 'wrong_htu'],
    ['9: an escaped slash', htu('https://example.com/device%2Fv1/sync'), 'wrong_htu'],
    ['9: a trailing slash', htu(`${url}/`), 'wrong_htu'],
    ['9: only the path', htu('/device/v1/sync'), 'wrong_htu'],
    ['9: a user', htu('https://me@example.com/device/v1/sync'), 'wrong_htu'],
    ['9: backslashes', htu('https:\\\\example.com\\device\\v1\\sync'), 'wrong_htu'],
    ['9: white space', htu(` ${url}`), 'wrong_htu'],
    ['9: a line break', htu('https://example.com/device/\nv1/sync'), 'wrong_htu'],
    ['9: no host', htu('https:///example.com/device/v1/sync'), 'wrong_htu'],
    ['9: a port above 65535', htu('https://example.com:99999/device/v1/sync'), 'wrong_htu'],
    ['9: nothing', htu(''), 'wrong_htu'],
    ['9: no URL on either side', htu('/'), 'wrong_htu', { url: '/' }],
    ['11: older than a minute', { claims: { iat: now - 61 } }, 'wrong_iat'],
    ['11: more than a minute ahead', { claims: { iat: now + 61 } }, 'wrong_iat'],
    ['12: no ath', { claims: { ath: undefined } }, 'missing_ath'],
    ['12: ath of another token', {}, 'ath_mismatch', { accessToken: `${accessToken}x` }],
    ['12: ath in hexadecimal', { claims: { ath: Buffer.from(ath, 'base64url').toString('hex') } }, 'ath_mismatch'],
    ['12: ath if there is no token', {}, 'superfluous_ath', { accessToken: null }],
    ['an empty jti', { claims: { jti: '' } }, 'bad_jti'],
    ['jti of 201 characters', { claims: { jti: 'x'.repeat(201) } }, 'bad_jti'],
  ]
  for (const [name, change, reason, expected] of table) {
    test(`${name}: ${reason}`, () => refused(proofOf(change), reason, expected))
  }

  const [head, body, signature] = proofOf().split('.') as [string, string, string]
  const doubled = Buffer.from(`{"typ":"dpop+jwt",${JSON.stringify(header).slice(1)}`)
  // prettier-ignore
  const texts: [string, string, RefusalReason][] = [
    ['1: two header fields, joined', `${proofOf()}, ${proofOf()}`, 'malformed'],
    ['2: nothing', '', 'malformed'],
    ['2: no signature', `${head}.${body}`, 'malformed'],
    ['2: no payload', `${head}..${signature}`, 'malformed'],
    ['2: no JSON', `${encodeBase64url(Buffer.from('{'))}.${body}.${signature}`, 'bad_json'],
    ['2: padded', `${head}=.${body}.${signature}`, 'respelt_base64'],
    ['2: a member twice', `${encodeBase64url(doubled)}.${body}.${signature}`, 'duplicate_member'],
    ['6: an empty signature', `${head}.${body}.`, 'bad_signature'],
    ['6: a short signature', `${head}.${body}.${signature.slice(4)}`, 'bad_signature'],
    ['6: the signature of another proof', `${head}.${body}.${proofOf({ claims: { jti: 'a' } }).split('.')[2]}`, 'bad_signature'],
  ]
  for (const [name, text, reason] of texts) test(`${name}: ${reason}`, () => refused(text, reason))

  test('6: a key of order one, for which S = 1 and R = B match any proof', async () => {
    const identity = encodeBase64url(Uint8Array.of(1, ...new Uint8Array(31)))
    const part = (value: object) => encodeBase64url(Buffer.from(JSON.stringify(value)))
    const input = `${part({ ...header, jwk: { ...own.jwk, x: identity } })}.${part(claims)}`
    const base = Buffer.from(`58${'66'.repeat(31)}01${'00'.repeat(31)}`, 'hex')
    await refused(`${input}.${encodeBase64url(base)}`, 'bad_signature')
  })
})

test('a proof with any one bit flipped is refused', async () => {
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST', 'DELETE'),
    path: fc.webPath(),
    token: fc.option(fc.string({ unit: fc.constantFrom(...'aZ09-._~'.split('')), minLength: 1 })),
    nonce: fc.option(fc.string({ maxLength: 20 })),
    at: fc.nat(2 ** 40),
  })
  const any = fc.tuple(request, fc.nat(), fc.nat(7))
  await fc.assert(
    fc.asyncProperty(any, async ([{ method, path, token, nonce, at }, place, bit]) => {
      const target = `https://example.com${path}`
      const proof = await signProof(
        {
          method,
          url: target,
          at,
          ...(token === null ? {} : { accessToken: token }),
          ...(nonce === null ? {} : { nonce }),
        },
        own,
      )
      const expected = { method, url: target, accessToken: token, now: at }
      assert.equal((await verifyProof(proof, expected)).nonce, nonce)
      const index = place % proof.length
      const flipped = String.fromCharCode(proof.charCodeAt(index) ^ (1 << bit))
      const changed = proof.slice(0, index) + flipped + proof.slice(index + 1)
      await assert.rejects(verifyProof(changed, expected), { name: 'Refusal' })
    }),
    { numRuns: 1000 },
  )
})
