/**
 * Verifies proofs of possession (RFC 9449) for a listener, and makes the errors about them.
 *
 * Nonces and used proofs are the caller's: replicas of an account server share them in a database,
 * and a daemon has its own in memory.
 */
import { verifyProof } from '../crypto/jose/dpop.ts'
import { Refusal } from '../crypto/refusal.ts'
import { AppError } from '../errors.ts'

/**
 * The value of a DPoP header, and the request it belongs to. `path` is the route's path, without
 * the server's address.
 */
export interface Proof {
  readonly text: string
  readonly method: string
  readonly path: string
}

/** Returns the challenge header for a 401 (RFC 9449 section 7.1). */
export const challenge = (
  error: 'invalid_token' | 'invalid_dpop_proof' | 'use_dpop_nonce',
): Readonly<Record<string, string>> => ({
  'WWW-Authenticate': `DPoP error="${error}", algs="Ed25519 EdDSA"`,
})

/** Returns the error for a proof that is not accepted. */
export const proofRefused = (message: string, cause?: unknown): AppError =>
  new AppError('invalid_token', message, { headers: challenge('invalid_dpop_proof'), cause })

/** Returns the error for a proof that was used before. */
export const proofUsed = (): AppError =>
  proofRefused('This proof was used before. Create a new one for each request.')

/** Returns the error for a proof without the newest nonce (RFC 9449 section 9). */
export const nonceRequired = (newest: string): AppError =>
  new AppError('invalid_token', 'The proof does not contain the server’s newest nonce.', {
    headers: { ...challenge('use_dpop_nonce'), 'DPoP-Nonce': newest },
  })

/**
 * Verifies a proof, except for its nonce and whether it was used before.
 * @param expected `origin` is the server's; `accessToken`: null if the request has none; `now` is
 *   in Unix milliseconds
 * @throws AppError `invalid_token`, with the challenge of RFC 9449 section 7.1
 */
export async function checkProof(
  { text, method, path }: Proof,
  expected: {
    readonly origin: string
    readonly accessToken: string | null
    readonly now: number
  },
): ReturnType<typeof verifyProof> {
  const { origin, accessToken, now } = expected
  try {
    const at = Math.floor(now / 1000)
    return await verifyProof(text, { method, url: origin + path, accessToken, now: at })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw proofRefused(`The DPoP proof is not valid: ${error.message}.`, error)
  }
}
