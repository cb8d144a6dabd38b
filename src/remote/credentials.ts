/**
 * Ways to authenticate a request: not at all, with a key, with a bearer token, or with a session. A
 * session is bound to a key (RFC 9449) and is renewed automatically.
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

/** A way to authenticate requests. `token` is called before each attempt. */
export interface Credentials {
  /** Returns the token for the next attempt; null for none. */
  token(): Promise<string | null>
  /** Returns the authentication header fields of a request. `url` must have no query. */
  headers(
    token: string | null,
    request: { method: string; url: string },
  ): Promise<Record<string, string>>
  /**
   * Handles a 401 of the server for this token.
   * @returns whether an attempt with another token may succeed
   */
  refused(token: string | null): boolean
  /** Converts an error of the server to the error that the caller sees. */
  toError(error: AppError): AppError
}

/** What proofs need from the server's earlier answers. */
export interface ProofState {
  readonly clock: ServerClock
  /** The newest nonce (RFC 9449 section 8); null if the server has sent none. */
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
  toError: asItIs,
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
  // The caller sent this token itself, so its error carries the challenge (RFC 6750 section 3).
  toError: (error) =>
    statusOf(error.code) === 401
      ? new AppError(error.code, error.message, {
          details: error.details,
          headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
        })
      : error,
})

/**
 * Converts a 401 of the server to `not_signed_in`. The 401 means that this device's session has
 * ended. It says nothing about the credentials that the caller sent to this daemon.
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
 * Authenticates with a device's session. The access token is kept in memory, and renewed before it
 * expires by the server's clock. Concurrent requests wait for the same renewal. A renewal does not
 * invalidate the previous access token, so requests in progress still succeed.
 * @param renew calls the renewal route with a proof by the session's key
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
    toError: notSignedIn,
  }
}
