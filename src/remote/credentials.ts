/**
 * Ways to authenticate a request: none, the possession of a key, a bearer token, or a session
 * that is bound to a key (RFC 9449) and renews itself.
 */
import type { UnauthenticatedClient } from '../api/port.ts'
import type { KeyPair } from '../crypto/device-keys.ts'
import { signProof } from '../crypto/jose/dpop.ts'
import { AppError, statusOf } from '../errors.ts'
import type { ServerClock } from './clock.ts'

/** A session is renewed this long before its access token expires, in milliseconds. */
const MARGIN_MS = 30_000

export interface SessionCredentials {
  /** The device's authentication key, to which the session is bound. */
  readonly key: () => Promise<KeyPair>
  readonly refreshToken: () => Promise<string> | string
}

/** A way to authenticate requests. Each attempt uses the token that `token` returned for it. */
export interface Credentials {
  /** Returns the token for the next attempt; null for none. */
  token(): Promise<string | null>
  /** Returns the header fields of a request with that token. `url` is without its query. */
  headers(
    token: string | null,
    request: { method: string; url: string },
  ): Promise<Record<string, string>>
  /**
   * Handles a 401 of the server for this token.
   * @returns whether an attempt with another token may succeed
   */
  refused(token: string | null): boolean
  /** Returns the error that the caller sees in place of this one. */
  told(error: AppError): AppError
}

/** State from the server's answers that proofs need. */
export interface ProofState {
  readonly clock: ServerClock
  /** RFC 9449 section 8: the newest nonce, or null. */
  nonce: string | null
}

const asItIs = (error: AppError) => error

async function proofHeaders(
  { clock, nonce }: ProofState,
  key: KeyPair,
  accessToken: string | null,
  request: { method: string; url: string },
): Promise<Record<string, string>> {
  const proof = await signProof(
    {
      ...request,
      at: Math.floor(clock.now() / 1000),
      ...(accessToken === null ? {} : { accessToken }),
      ...(nonce === null ? {} : { nonce }),
    },
    key,
  )
  return { DPoP: proof }
}

export const noCredentials: Credentials = {
  token: async () => null,
  headers: async () => ({}),
  refused: () => false,
  told: asItIs,
}

/** Authenticates by a key, before there is a session. */
export const keyHolder = (state: ProofState, key: () => Promise<KeyPair>): Credentials => ({
  ...noCredentials,
  headers: async (_, request) => proofHeaders(state, await key(), null, request),
})

/** Authenticates by a machine account's token (RFC 6750 section 2.1). */
export const bearerCredentials = (token: string): Credentials => ({
  token: async () => token,
  headers: async () => ({ Authorization: `Bearer ${token}` }),
  refused: () => false,
  // RFC 6750 section 3: the caller sent this token, so its error carries the challenge.
  told: (error) =>
    statusOf(error.code) === 401
      ? new AppError(error.code, error.message, {
          details: error.details,
          headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
        })
      : error,
})

/**
 * Converts a 401 of the server: it means that the session of this device has ended, and never
 * concerns the credentials of the caller.
 */
const notSignedIn = (error: AppError) =>
  statusOf(error.code) === 401
    ? new AppError(
        'not_signed_in',
        'The account server no longer accepts the session of this device. Run "countersignd login".',
        { cause: error },
      )
    : error

/**
 * Authenticates by the session of a device. The access token is kept in memory and renewed before
 * it expires by the server's clock; concurrent requests wait for the same renewal. A token that a
 * request already carries stays valid, so a renewal interrupts no request.
 * @param renew the renewal route, called by a holder of the session's key
 */
export function deviceSession(
  state: ProofState,
  session: SessionCredentials,
  renew: UnauthenticatedClient['session']['renew'],
): Credentials {
  let current: { token: string; expiresAt: number } | null = null
  let renewing: Promise<string> | null = null

  async function renewed(): Promise<string> {
    const body = { refresh_token: await session.refreshToken() }
    const { access_token: token, access_expires_at } = await renew({ body })
    current = { token, expiresAt: Date.parse(access_expires_at) }
    return token
  }

  return {
    token: async () => {
      if (current !== null && state.clock.now() < current.expiresAt - MARGIN_MS)
        return current.token
      renewing ??= renewed().finally(() => {
        renewing = null
      })
      return renewing
    },
    headers: async (token, request) => ({
      Authorization: `DPoP ${token}`,
      ...(await proofHeaders(state, await session.key(), token, request)),
    }),
    refused: (token) => {
      // Another request may have renewed the session since this one was sent.
      if (current?.token === token) current = null
      return true
    },
    told: notSignedIn,
  }
}
