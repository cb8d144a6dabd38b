/**
 * Proofs of possession (RFC 9449) of the console's requests to this daemon.
 *
 * The nonces belong to this run of the daemon, so that it accepts no proof of an earlier run: the
 * used proofs of that run are no longer in memory.
 */
import { randomBytes } from 'node:crypto'
import { type Proof, checkProof, nonceRequired, proofUsed } from '../../api/proof-check.ts'

/** A nonce is valid for at least this long and at most twice as long, in milliseconds. */
const SLOT_MS = 120_000

/** A nonce, and the ids of the proofs that contained it and were used. */
interface Nonce {
  readonly text: string
  readonly used: Set<string>
}

/** A valid proof that has not been checked for reuse yet. */
interface CheckedProof {
  /** RFC 7638 thumbprint of the key. */
  readonly thumbprint: string
  /**
   * Runs an action that must be synchronous, and records the use of the proof if it succeeds. So
   * only callers with a valid token make the records grow.
   * @throws AppError `invalid_token` if the proof was used before; and as the action
   */
  useFor<T>(action: () => T): T
}

export interface ConsoleProofs {
  /** Returns the nonce that proofs must contain now (RFC 9449 section 8). */
  nonce(): string
  /**
   * Verifies a proof, but does not check whether it was used before.
   * @param accessToken the request's token; null if it has none
   * @throws AppError `invalid_token`, with the challenge of RFC 9449 sections 7.1 and 9
   */
  verify(proof: Proof, accessToken: string | null): Promise<CheckedProof>
}

const newNonce = (): Nonce => ({ text: randomBytes(16).toString('base64url'), used: new Set() })

/**
 * Creates the proofs of a run of the daemon.
 * @param of `address` returns the daemon's address, which proofs must name
 */
export function newConsoleProofs({
  address,
  now,
}: {
  readonly address: () => string
  readonly now: () => number
}): ConsoleProofs {
  let slot = Number.NaN
  /** The nonces that are accepted: those of this slot and the one before. */
  let [current, previous] = [newNonce(), newNonce()]

  /** Replaces the nonces that are too old, together with the proofs that contained them. */
  function turn(): void {
    const slotNow = Math.floor(now() / SLOT_MS)
    if (slotNow === slot) return
    previous = slotNow === slot + 1 ? current : newNonce()
    current = newNonce()
    slot = slotNow
  }

  return {
    nonce() {
      turn()
      return current.text
    },

    async verify(proof, accessToken) {
      const expected = { origin: address(), accessToken, now: now() }
      const { thumbprint, jti, nonce } = await checkProof(proof, expected)
      turn()
      const found = [current, previous].find(({ text }) => text === nonce)
      if (found === undefined) throw nonceRequired(current.text)
      return {
        thumbprint,
        useFor(action) {
          const id = `${thumbprint} ${jti}`
          if (found.used.has(id)) throw proofUsed()
          const result = action()
          found.used.add(id)
          return result
        },
      }
    },
  }
}
