/**
 * How a request shows who asks: not at all, by the possession of a key, by a bearer token, or by a session that is bound to
 * a key (RFC 9449) and renews itself.
 */
import type { Door } from '../api/port.ts'
import type { KeyPair } from '../crypto/device-keys.ts'
import { signProof } from '../crypto/jose/dpop.ts'
import { AppError, statusOf } from '../errors.ts'
import type { ServerClock } from './clock.ts'

/** A session is renewed this long before its access token ends, in milliseconds. */
const MARGIN_MS = 30_000

export interface DeviceSession {
  /** The device's authentication key, to which the session is bound. */
  readonly key: () => Promise<KeyPair>
  readonly refreshToken: () => Promise<string> | string
}

/** A way to show who asks. `Token` is what one attempt was made with. */
export interface Credentials {
  /** The token to ask with; null for none. */
  token(): Promise<string | null>
  /** The header fields of a request made with that token. `url` is without its query. */
  headers(
    token: string | null,
    request: { method: string; url: string },
  ): Promise<Record<string, string>>
  /** The server answered 401 to this token. Out: whether another is worth a try. */
  refused(token: string | null): boolean
  /** The error that the caller sees in place of this one. */
  told(error: AppError): AppError
}

/** What the server's answers said last that proofs need. */
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

export const nobody: Credentials = {
  token: async () => null,
  headers: async () => ({}),
  refused: () => false,
  told: asItIs,
}

/** Whoever holds a key, before there is a session. */
export const keyHolder = (state: ProofState, key: () => Promise<KeyPair>): Credentials => ({
  ...nobody,
  headers: async (_, request) => proofHeaders(state, await key(), null, request),
})

/** The bearer of a machine account's token (RFC 6750 section 2.1). */
export const bearer = (token: string): Credentials => ({
  token: async () => token,
  headers: async () => ({ Authorization: `Bearer ${token}` }),
  refused: () => false,
  // RFC 6750 section 3: whoever brought the token is told in the form that its challenge has.
  told: (error) =>
    statusOf(error.code) === 401
      ? new AppError(error.code, error.message, {
          details: error.details,
          headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
        })
      : error,
})

/** The server's 401 is never the caller's: what has ended is the session of this device. */
const notSignedIn = (error: AppError) =>
  statusOf(error.code) === 401
    ? new AppError(
        'not_signed_in',
        'The account server does not take the session of this device any more: run "countersignd login".',
        { cause: error },
      )
    : error

/**
 * The session of a device. The access token is kept in memory and renewed before it ends by the server's clock; whoever asks
 * meanwhile waits for the same renewal. A token that a request still carries stays good, so a renewal ends nothing.
 * @param renew the door of a holder of the session's key
 */
export function deviceSession(
  state: ProofState,
  session: DeviceSession,
  renew: Door['session']['renew'],
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
      // Another request may have renewed since this one left.
      if (current?.token === token) current = null
      return true
    },
    told: notSignedIn,
  }
}
