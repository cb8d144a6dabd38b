/**
 * Tests proofs and assertions against independent libraries.
 * Each side verifies what the other makes.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { EmbeddedJWK, importJWK, jwtVerify, SignJWT } from 'jose'
import * as oauth from 'oauth4webapi'
import { newId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import {
  readAssertion,
  signAssertion,
  verifyAssertion,
} from '../../src/crypto/jose/client-assertion.ts'
import { signProof, verifyProof } from '../../src/crypto/jose/dpop.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { newDevice } from './builders.ts'

const key = newDevice().keys.auth
const jkt = thumbprint(key.jwk)
const d = Buffer.from(key.secret).toString('base64url')
const machine = newId(ID_PREFIX.machine, Date.now())
const issuer = 'https://example.com'
const url = `${issuer}/device/v1/sync`
const accessToken = 'Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU'
const seconds = () => Math.floor(Date.now() / 1000)
const asked = () => ({ method: 'POST', url, accessToken, now: seconds() })

describe('jose', () => {
  test('verifies our proofs by their embedded key', async () => {
    const at = seconds()
    const proof = await signProof({ method: 'POST', url, at, accessToken, nonce: 'n' }, key)
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: ['Ed25519'],
      requiredClaims: ['jti', 'htm', 'htu', 'iat', 'ath', 'nonce'],
      maxTokenAge: 60,
    })
    assert.deepEqual(protectedHeader.jwk, key.jwk)
    assert.deepEqual([payload['htm'], payload['htu'], payload.iat], ['POST', url, at])
  })
  test('verifies our assertions', async () => {
    const made = await signAssertion({ machine, audience: issuer, at: seconds() }, key)
    const { payload } = await jwtVerify(made, await importJWK(key.jwk, 'Ed25519'), {
      typ: 'JWT',
      issuer: machine,
      subject: machine,
      audience: issuer,
      requiredClaims: ['jti', 'iat', 'exp'],
    })
    assert.equal(payload.exp! - payload.iat!, 60)
  })
  for (const alg of ['Ed25519', 'EdDSA']) {
    test(`makes proofs with ${alg} that we accept`, async () => {
      const ath = Buffer.from(
        await crypto.subtle.digest('SHA-256', new TextEncoder().encode(accessToken)),
      ).toString('base64url')
      const proof = await new SignJWT({ htm: 'POST', htu: url, ath })
        .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk: key.jwk })
        .setIssuedAt()
        .setJti('of jose')
        .sign(await importJWK({ ...key.jwk, d }, alg))
      const { thumbprint: by, jti } = await verifyProof(proof, asked())
      assert.deepEqual([by, jti], [jkt, 'of jose'])
    })
    test(`makes assertions with ${alg} that we accept`, async () => {
      const made = await new SignJWT()
        .setProtectedHeader({ alg })
        .setIssuer(machine)
        .setSubject(machine)
        .setAudience([issuer, url])
        .setIssuedAt()
        .setNotBefore('0 seconds')
        .setExpirationTime('2 minutes')
        .setJti('of jose')
        .sign(await importJWK({ ...key.jwk, d }, alg))
      assert.deepEqual(readAssertion(made), { machine, kid: null })
      const expected = { publicKey: key.jwk, audiences: [issuer], now: seconds() }
      assert.equal((await verifyAssertion(made, expected)).jti, 'of jose')
    })
  }
})

describe('oauth4webapi', () => {
  const pair = async () => ({
    privateKey: await crypto.subtle.importKey('jwk', { ...key.jwk, d }, 'Ed25519', false, ['sign']),
    publicKey: await crypto.subtle.importKey('jwk', key.jwk, 'Ed25519', true, ['verify']),
  })
  const client: oauth.Client = { client_id: machine }

  test('makes proofs that we accept, and repeats our nonce', async () => {
    const DPoP = oauth.DPoP(client, await pair())
    assert.equal(await DPoP.calculateThumbprint(), jkt)
    const nonces: (string | null)[] = []
    const ask = () =>
      oauth.protectedResourceRequest(
        accessToken,
        'POST',
        new URL(`${url}?after=7`),
        undefined,
        null,
        {
          DPoP,
          [oauth.customFetch]: async (_, { headers }) => {
            const { thumbprint: by, nonce } = await verifyProof(headers['dpop']!, asked())
            assert.equal(by, jkt)
            nonces.push(nonce)
            return new Response('{}', { headers: { 'DPoP-Nonce': 'nonce 2' } })
          },
        },
      )
    await ask()
    await ask()
    assert.deepEqual(nonces, [null, 'nonce 2'])
  })
  test('makes proofs for the token endpoint, and assertions, that we accept', async () => {
    const { privateKey, publicKey } = await pair()
    const server = { issuer, token_endpoint: `${issuer}/oauth/token` }
    let asserted: string | undefined
    await oauth.clientCredentialsGrantRequest(
      server,
      client,
      oauth.PrivateKeyJwt({ key: privateKey, kid: jkt }),
      {},
      {
        DPoP: oauth.DPoP(client, { privateKey, publicKey }),
        [oauth.customFetch]: async (target, { headers, body }) => {
          const expected = { ...asked(), url: target, accessToken: null }
          assert.equal((await verifyProof(headers['dpop']!, expected)).thumbprint, jkt)
          asserted = new URLSearchParams(String(body)).get('client_assertion')!
          return new Response('{}')
        },
      },
    )
    assert.deepEqual(readAssertion(asserted!), { machine, kid: jkt })
    const audiences = [server.token_endpoint, issuer]
    const found = await verifyAssertion(asserted!, {
      publicKey: key.jwk,
      audiences,
      now: seconds(),
    })
    assert.equal(found.machine, machine)
  })
})
