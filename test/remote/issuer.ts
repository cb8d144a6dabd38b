/**
 * The part of an account server that keeps sessions, as a test wants it: proofs are judged by an independent library, and the
 * clock, the tokens and the nonces are the test's.
 */
import { hash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { EmbeddedJWK, calculateJwkThumbprint, jwtVerify } from 'jose'
import { newDeviceKeys } from '../crypto/keys.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import type { DeviceSession, Where } from '../../src/remote/remote.ts'
import { type Answerer, type Seen, clientAt, json, refusal, scripted } from './scripted.ts'

export const CONTEXT = {
  user: { id: 'acc_00000000000000000000000000', display_name: 'A', email: null, kind: 'person' },
  organisations: [],
}
const LIFETIME_MS = 3_600_000
const LEEWAY_S = 60

export interface Issuer {
  readonly answer: Answerer
  readonly session: DeviceSession
  /** The server's clock, in Unix milliseconds. */
  readonly clock: { ms: number }
  nonce: string
  readonly counts: { renewals: number; challenges: number; stale: number; refused: number }
  /** Access tokens that are taken; a test may take them away. */
  readonly live: Map<string, number>
  /** Whether the session may still be renewed. */
  open: boolean
  /** Whether nothing is answered but 503. */
  away: boolean
  /** How long it says that an access token lives, in milliseconds. */
  stated: number
  /** What happens before the answer to a good request. */
  before: (seen: Seen) => Promise<void>
}

/** A server that knows one session, at this address. */
export function newIssuer(base: () => string, clock = { ms: Date.now() }): Issuer {
  const { auth } = newDeviceKeys()
  const seen = new Set<string>()
  let issued = 0

  const no = (res: ServerResponse, error: string) =>
    json(res, 401, refusal('invalid_token', error), { 'WWW-Authenticate': `DPoP error="${error}"` })

  /** RFC 9449 section 4.3, and what the account server adds to it. */
  async function judge(
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
      const fault = await judge(one, token)
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

/** A server of one session, and its client, whose clock is the server's unless told. */
export async function started(t: TestContext, options: Partial<Where> = {}) {
  let base = ''
  const issuer = newIssuer(() => base)
  const server = await scripted(t, (res, seen, n) => issuer.answer(res, seen, n))
  base = server.base
  const remote = clientAt(t, base, { now: () => issuer.clock.ms, ...options })
  const account = remote.account(issuer.session)
  return { issuer, server, remote, account, read: () => account.context.read({}) }
}
