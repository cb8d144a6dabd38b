/**
 * The session routes of an account server, for tests: an independent library verifies the proofs,
 * and the test controls the clock, the tokens and the nonces.
 */
import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { EmbeddedJWK, calculateJwkThumbprint, jwtVerify } from 'jose'
import { newDeviceKeys } from '../crypto/keys.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import type { SessionCredentials } from '../../src/remote/credentials.ts'
import type { Where } from '../../src/remote/remote.ts'
import { type Answerer, type Seen, clientAt, json, refusal, scripted } from './scripted.ts'

export const CONTEXT = {
  user: { id: 'acc_00000000000000000000000000', display_name: 'A', email: null, kind: 'person' },
  organisations: [],
}
const LIFETIME_MS = 3_600_000
const LEEWAY_S = 60

export interface Issuer {
  readonly answer: Answerer
  readonly session: SessionCredentials
  /** The server's clock, in Unix milliseconds. */
  readonly clock: { ms: number }
  nonce: string
  readonly counts: { renewals: number; challenges: number; stale: number; refused: number }
  /** The access tokens that are accepted; a test may delete them. */
  readonly live: Map<string, number>
  /** Whether the session may still be renewed. */
  open: boolean
  /** Whether every request is answered with 503. */
  away: boolean
  /** The stated lifetime of an access token, in milliseconds. */
  stated: number
  /** Called before the answer to a valid request. */
  before: (seen: Seen) => Promise<void>
}

/** Creates a server with one session, at this address. */
export function newIssuer(base: () => string, clock = { ms: Date.now() }): Issuer {
  const { auth } = newDeviceKeys()
  const seen = new Set<string>()
  let issued = 0

  const no = (res: ServerResponse, error: string) =>
    json(res, 401, refusal('invalid_token', error), { 'WWW-Authenticate': `DPoP error="${error}"` })

  /** Verifies a proof by RFC 9449 section 4.3 and the account server’s further rules. */
  async function verify(
    { method, url, headers }: Seen,
    token: string | null,
  ): Promise<string | null> {
    const proof = headers['dpop']
    if (typeof proof !== 'string') return 'invalid_dpop_proof'
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      typ: 'dpop+jwt',
      algorithms: ['Ed25519'],
      currentDate: new Date(issuer.clock.ms),
    })
    const jkt = await calculateJwkThumbprint(protectedHeader.jwk!)
    const ath = token === null ? undefined : hash('sha256', token, 'base64url')
    const isRight =
      jkt === thumbprint(auth.jwk) &&
      payload['htm'] === method &&
      payload['htu'] === base() + url.replace(/\?.*/, '') &&
      payload['ath'] === ath &&
      !seen.has(payload.jti!) &&
      Math.abs(payload.iat! - issuer.clock.ms / 1000) <= LEEWAY_S
    if (!isRight) return 'invalid_dpop_proof'
    if (payload['nonce'] !== issuer.nonce) return 'use_dpop_nonce'
    seen.add(payload.jti!)
    return null
  }

  function renew(res: ServerResponse): unknown {
    if (!issuer.open) return no(res, 'invalid_token')
    const token = `access-${++issued}`
    issuer.counts.renewals++
    issuer.live.set(token, issuer.clock.ms + LIFETIME_MS)
    return json(res, 200, {
      session_id: 'ses_00000000000000000000000000',
      refresh_token: 'refresh',
      access_token: token,
      access_expires_at: new Date(issuer.clock.ms + issuer.stated).toISOString(),
    })
  }

  const issuer: Issuer = {
    clock,
    nonce: 'nonce-0',
    counts: { renewals: 0, challenges: 0, stale: 0, refused: 0 },
    live: new Map(),
    open: true,
    away: false,
    stated: LIFETIME_MS,
    before: async () => undefined,
    session: { key: async () => auth, refreshToken: () => 'refresh' },
    answer: async (res, one) => {
      if (issuer.away) return res.writeHead(503).end()
      res.setHeader('Date', new Date(issuer.clock.ms).toUTCString())
      res.setHeader('DPoP-Nonce', issuer.nonce)
      const isRenewal = one.url === '/device/v1/session'
      const token = isRenewal ? null : (one.headers.authorization ?? '').replace(/^DPoP /, '')
      const fault = await verify(one, token)
      if (fault !== null) {
        issuer.counts[fault === 'use_dpop_nonce' ? 'challenges' : 'refused']++
        return no(res, fault)
      }
      await issuer.before(one)
      if (token === null) return renew(res)
      if ((issuer.live.get(token) ?? 0) <= issuer.clock.ms) {
        issuer.counts.stale++
        return no(res, 'invalid_token')
      }
      return json(res, 200, CONTEXT)
    },
  }
  return issuer
}

/**
 * Starts a server of one session, and its client. The client’s clock is the server’s by default.
 */
export async function started(t: TestContext, options: Partial<Where> = {}) {
  let base = ''
  const issuer = newIssuer(() => base)
  const server = await scripted(t, (res, seen, n) => issuer.answer(res, seen, n))
  base = server.base
  const remote = clientAt(t, base, { now: () => issuer.clock.ms, ...options })
  const account = remote.account(issuer.session)
  return { issuer, server, remote, account, read: () => account.context.read({}) }
}
