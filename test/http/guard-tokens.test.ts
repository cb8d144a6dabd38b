/**
 * Tests the form of a token and where it is accepted.
 * Guessing three words is limited across all tokens.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ask } from '../daemon.ts'
import { CLOSE, daemon, errorOf, only, withDaemon, write } from './guarding.ts'
import { answersIn, hostOf, send } from './raw.ts'

withDaemon()

describe('tokens', () => {
  const strip = (answer: string) => answer.replace(/X-Request-Id: .*\r\n|Date: .*\r\n/g, '')
  const withToken = (value: string, path = '/api/v1/status') =>
    send(
      daemon.address,
      `GET ${path} HTTP/1.1\r\nHost: ${hostOf(daemon.address)}\r\nAuthorization: ${value}\r\n${CLOSE}\r\n\r\n`,
    )

  test('an unknown and a revoked token get the same bytes', async () => {
    const full = await daemon.token('full')
    const { json } = await daemon.request('POST', '/api/v1/api-tokens', {
      token: full,
      body: { name: 'gone', scope: 'read' },
    })
    const gone = json as { id: string; token: string }
    assert.match(await withToken(`Bearer ${gone.token}`), /^HTTP\/1.1 200 /)
    assert.equal(
      (await daemon.request('DELETE', `/api/v1/api-tokens/${gone.id}`, { token: full })).status,
      204,
    )
    const revoked = strip(await withToken(`Bearer ${gone.token}`))
    assert.match(revoked, /^HTTP\/1.1 401 /)
    for (const unknown of [
      `csd_${'0'.repeat(36)}`,
      gone.token.slice(0, -1),
      'x',
      'ä',
      `${gone.token} x`,
    ])
      assert.equal(strip(await withToken(`Bearer ${unknown}`)), revoked, unknown)
  })

  const spellings: [value: (token: string) => string, status: number, error?: string][] = [
    [(token) => `Bearer ${token}`, 200],
    [(token) => `bearer ${token}`, 200],
    [(token) => `BEARER   ${token}  `, 200],
    [(token) => `Bearer "${token}"`, 401, 'invalid_token'],
    [(token) => `Bearer ${token},${token}`, 401, 'invalid_token'],
    [(token) => `Bearer ${token.toUpperCase()}`, 401, 'invalid_token'],
    [(token) => `Bearer\t${token}`, 401, 'unauthorized'],
    [(token) => `Bearer${token}`, 401, 'unauthorized'],
    [() => 'Bearer', 401, 'unauthorized'],
    [() => 'Bearer ', 401, 'unauthorized'],
    [(token) => token, 401, 'unauthorized'],
    [(token) => `Basic ${btoa(`x:${token}`)}`, 401, 'unauthorized'],
    [(token) => `Token ${token}`, 401, 'unauthorized'],
    // The token is not bound to a key, and there is no proof.
    [(token) => `DPoP ${token}`, 401, 'invalid_token'],
  ]
  for (const [value, status, error] of spellings)
    test(`Authorization: ${value('T')} → ${status} ${error ?? ''}`, async () => {
      const answer = only(answersIn(await withToken(value(write))))
      assert.equal(answer.status, status)
      if (error === undefined) return
      assert.equal(errorOf(answer), error)
      assert.equal(
        answer.headers['www-authenticate'],
        error === 'unauthorized'
          ? 'Bearer'
          : value('T') === 'DPoP T'
            ? 'DPoP error="use_dpop_nonce", algs="Ed25519 EdDSA"'
            : 'Bearer error="invalid_token"',
      )
      // A public route ignores the token.
      assert.equal(only(answersIn(await withToken(value(write), '/health'))).status, 200)
    })

  test('a token is read only from the Authorization header', async () => {
    for (const [path, headers] of [
      [`/api/v1/status?access_token=${write}`, {}],
      ['/api/v1/status', { Cookie: `token=${write}` }],
      ['/api/v1/status', { 'X-Api-Key': write }],
      ['/api/v1/status', { 'Proxy-Authorization': `Bearer ${write}` }],
    ] as [string, Record<string, string>][])
      assert.equal((await daemon.request('GET', path, { headers })).status, 401)
  })

  test('the account server rejects bare tokens of the daemon', async () => {
    for (const path of ['/device/v1/rosters/x', '/api/v1/connections', '/nope']) {
      const { status, json } = await ask(daemon.accountAddress, 'GET', path, { token: write })
      assert.equal(`${status} ${(json as { error: string }).error}`, '401 invalid_token')
    }
  })
})

test('three words cannot be guessed: 20 wrong tries for a token, 60 for all; no token blocks another', async () => {
  const body = { words: 'matador carload recede' }
  /**
   * Sends attempts until the answer is 429; returns their number. It can be twice the limit if a
   * minute ends meanwhile.
   */
  async function triesOf(token: string): Promise<number> {
    for (let tries = 0; tries <= 40; tries++) {
      const { status, json, headers } = await daemon.request('POST', '/api/v1/verify', {
        token,
        body,
      })
      if (status === 200) continue
      assert.equal(`${status} ${(json as { error: string }).error}`, '429 rate_limited')
      assert.match(headers['retry-after'] ?? '', /^[1-9]\d?$/)
      return tries
    }
    return assert.fail('no limit')
  }
  let all = 0
  for (const scope of ['write', 'full', 'write'] as const) {
    const tries = await triesOf(await daemon.token(scope))
    assert(tries >= 20, `limited after ${tries} tries`)
    all += tries
  }
  for (let more = 1; more > 0; all += more) more = await triesOf(await daemon.token('write'))
  assert(all >= 60 && all <= 120, `${all} tries`)
  const owner = await daemon.request('POST', '/api/v1/verify', { token: daemon.owner(), body })
  assert.equal(owner.status, 200)
})
