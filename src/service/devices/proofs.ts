/**
 * Proofs of possession (RFC 9449): each request of a device carries one, made for it alone. Replicas share the secret of the
 * nonces and the proofs that were seen, so what one took, no other takes again.
 */
import { createHmac, hash } from 'node:crypto'
import { verifyProof } from '../../crypto/jose/dpop.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import type { Ground } from '../context.ts'
import { newServerSecret } from '../db/server-secrets.ts'

/** A nonce is good for this long at least, and twice as long at most. */
const SLOT_MS = 120_000
/** How long the same proof is refused; its `iat` is too old well before. */
const REPLAY_MS = 5 * 60_000

/** The value of a DPoP header, and the request it came with: `path` is that of the row, without the server's address. */
export interface Proof {
  readonly text: string
  readonly method: string
  readonly path: string
}

/** A proof that is right, as far as can be told without knowing whether it came before. */
export interface Shown {
  /** RFC 7638 thumbprint of the key. */
  readonly thumbprint: string
  readonly jti: string
}

export interface Proofs {
  /** The nonce that proofs should carry now (RFC 9449 section 8). */
  readonly nonce: () => Promise<string>
  /**
   * Judge a proof by itself.
   * @param accessToken the token it came with; null where none is
   * @throws AppError `invalid_token`, with a challenge as RFC 9449 sections 7.1, 8 and 9 say
   */
  readonly judge: (proof: Proof, accessToken: string | null) => Promise<Shown>
  /** Note that a proof was used. Throws AppError `invalid_token` when it came before, to whichever replica. */
  readonly use: (shown: Shown) => Promise<void>
}

/** The header of a 401 (RFC 9449 section 7.1). */
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
}: Pick<Ground, 'db' | 'now' | 'publicUrl' | 'seenOnce'>): Proofs {
  const secret = newServerSecret(db, 'nonce')

  /** That of a time slot: nobody keeps it, every replica can make it. */
  async function nonceOf(slot: number): Promise<string> {
    const mac = createHmac('sha256', await secret())
    return mac.update(`nonce ${slot}`).digest().subarray(0, 16).toString('base64url')
  }

  const slotNow = () => Math.floor(now() / SLOT_MS)
  let latest = { slot: -1, nonce: '' }

  /** The nonce of the current slot, computed once: every answer to a proof carries it. */
  async function nonceNow(): Promise<string> {
    const slot = slotNow()
    if (latest.slot !== slot) latest = { slot, nonce: await nonceOf(slot) }
    return latest.nonce
  }

  async function demandNonce(nonce: string | null): Promise<void> {
    const current = await nonceNow()
    if (nonce === current || (nonce !== null && nonce === (await nonceOf(slotNow() - 1)))) return
    throw new AppError('invalid_token', 'The proof does not carry the server’s newest nonce.', {
      headers: { ...challenge('use_dpop_nonce'), 'DPoP-Nonce': current },
    })
  }

  return {
    nonce: nonceNow,

    judge: async ({ text, method, path }, accessToken) => {
      try {
        const url = publicUrl() + path
        const at = Math.floor(now() / 1000)
        const { thumbprint, jti, nonce } = await verifyProof(text, {
          method,
          url,
          accessToken,
          now: at,
        })
        await demandNonce(nonce)
        return { thumbprint, jti }
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        throw refused(`The proof of the key is not good: ${error.message}.`, error)
      }
    },

    use: async ({ thumbprint, jti }) => {
      const id = hash('sha256', `proof ${thumbprint} ${jti}`, 'hex')
      if (!(await seenOnce.first(id, now() + REPLAY_MS)))
        throw refused('This proof was used before: make a new one each time.')
    },
  }
}
