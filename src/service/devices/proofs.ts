/**
 * Proofs of possession (RFC 9449, DPoP). Each request of a device carries a new proof. Replicas
 * share the nonce secret and the list of used proofs, so a proof is accepted once across all
 * replicas.
 */
import { createHmac, hash } from 'node:crypto'
import { verifyProof } from '../../crypto/jose/dpop.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import { newServerSecret } from '../db/server-secrets.ts'

/** A nonce is valid for at least this long and at most twice as long, in milliseconds. */
const SLOT_MS = 120_000
/** How long a used proof is remembered, in milliseconds. Its `iat` is too old long before that. */
const REPLAY_MS = 5 * 60_000

/**
 * The value of a DPoP header, and the request it belongs to. `path` is the route's path, without
 * the server's address.
 */
export interface Proof {
  readonly text: string
  readonly method: string
  readonly path: string
}

/** A valid proof that has not been checked for reuse yet. */
export interface ValidProof {
  /** RFC 7638 thumbprint of the key. */
  readonly thumbprint: string
  readonly jti: string
}

export interface Proofs {
  /** Returns the nonce that proofs should carry now (RFC 9449 section 8). */
  readonly nonce: () => Promise<string>
  /**
   * Verifies a proof, but does not check whether it was used before.
   * @param accessToken the request's access token; null if it has none
   * @throws AppError `invalid_token`, with the challenge of RFC 9449 sections 7.1, 8 and 9
   */
  readonly verify: (proof: Proof, accessToken: string | null) => Promise<ValidProof>
  /**
   * Records that a proof was used. Throws AppError `invalid_token` if it was used before at any
   * replica.
   */
  readonly use: (shown: ValidProof) => Promise<void>
}

/** Returns the challenge header for a 401 (RFC 9449 section 7.1). */
export const challenge = (
  error: 'invalid_token' | 'invalid_dpop_proof' | 'use_dpop_nonce',
): Readonly<Record<string, string>> => ({
  'WWW-Authenticate': `DPoP error="${error}", algs="Ed25519 EdDSA"`,
})

const refused = (message: string, cause?: unknown) =>
  new AppError('invalid_token', message, { headers: challenge('invalid_dpop_proof'), cause })

export function newProofs({
  db,
  now,
  publicUrl,
  seenOnce,
}: Pick<ServiceContext, 'db' | 'now' | 'publicUrl' | 'seenOnce'>): Proofs {
  const secret = newServerSecret(db, 'nonce')

  /** Returns the nonce of a time slot. Every replica computes the same nonce, so none is stored. */
  async function nonceOf(slot: number): Promise<string> {
    const mac = createHmac('sha256', await secret())
    return mac.update(`nonce ${slot}`).digest().subarray(0, 16).toString('base64url')
  }

  const slotNow = () => Math.floor(now() / SLOT_MS)
  let latest = { slot: -1, nonce: '' }

  /**
   * Returns the nonce of the current slot. It is cached, because every answer to a proof carries
   * it.
   */
  async function nonceNow(): Promise<string> {
    const slot = slotNow()
    if (latest.slot !== slot) latest = { slot, nonce: await nonceOf(slot) }
    return latest.nonce
  }

  async function requireNonce(nonce: string | null): Promise<void> {
    const current = await nonceNow()
    if (nonce === current || (nonce !== null && nonce === (await nonceOf(slotNow() - 1)))) return
    throw new AppError('invalid_token', 'The proof does not contain the server’s newest nonce.', {
      headers: { ...challenge('use_dpop_nonce'), 'DPoP-Nonce': current },
    })
  }

  return {
    nonce: nonceNow,

    verify: async ({ text, method, path }, accessToken) => {
      try {
        const url = publicUrl() + path
        const at = Math.floor(now() / 1000)
        const { thumbprint, jti, nonce } = await verifyProof(text, {
          method,
          url,
          accessToken,
          now: at,
        })
        await requireNonce(nonce)
        return { thumbprint, jti }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        throw refused(`The DPoP proof is not valid: ${error.message}.`, error)
      }
    },

    use: async ({ thumbprint, jti }) => {
      const id = hash('sha256', `proof ${thumbprint} ${jti}`, 'hex')
      if (!(await seenOnce.first(id, now() + REPLAY_MS)))
        throw refused('This proof was used before. Create a new one for each request.')
    },
  }
}
