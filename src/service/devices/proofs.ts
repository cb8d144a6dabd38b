/**
 * Proofs of possession (RFC 9449, DPoP). Each request of a device carries a new proof. Replicas
 * share the nonce secret and the table of used proofs, so a proof is accepted once across all
 * replicas. A use is recorded only in the epoch of the proof's nonce, so a proof is also not
 * accepted again after PostgreSQL has emptied that table (`db/proof-epochs.ts`).
 */
import { createHmac, hash } from 'node:crypto'
import { LEEWAY_S } from '../../crypto/jose/jwt.ts'
import { type Proof, checkProof, nonceRequired, proofUsed } from '../../api/proof-check.ts'
import type { AppError } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import { compiledOnce } from '../db/compiled.ts'
import { newProofEpochs } from '../db/proof-epochs.ts'
import { newSweep } from '../db/sweeps.ts'

/** A nonce is valid for at least this long and at most twice as long, in milliseconds. */
const SLOT_MS = 120_000
/** The length of the tag that shows the epoch of a nonce, in bytes and as base64url. */
const TAG_BYTES = 6
const TAG_LENGTH = 8
/** How long a used proof is remembered, in milliseconds. Its `iat` is too old long before that. */
const REPLAY_MS = 5 * 60_000
const SWEEP_MS = 60_000

/**
 * Returns the beginning of the ids for uses of proofs with this `iat`. So the ids of expired uses
 * are together in the primary key. Servers before version 16 of the database store ids in
 * hexadecimal, which sort before these.
 * @param iat Unix seconds
 */
const idsAt = (iat: number) => `p${String(iat).padStart(11, '0')}`

/** A valid proof that has not been checked for reuse yet. */
export interface ValidProof {
  /** RFC 7638 thumbprint of the key. */
  readonly thumbprint: string
  readonly jti: string
  /** When the proof was made, Unix seconds. */
  readonly iat: number
  /** The epoch of the nonce. */
  readonly epoch: string
}

/** The use of a proof: a row of `used_proofs`, and the epoch in which it is recorded. */
export interface ProofUse {
  readonly useId: string
  /** Unix milliseconds. */
  readonly useExpires: number
  readonly epoch: string
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
  /** Returns the use of a proof, for a query that records it itself. */
  readonly useOf: (shown: ValidProof) => ProofUse
  /**
   * Returns the error for a use that was not recorded: the proof was used before, or the epoch of
   * its nonce has ended.
   */
  readonly unrecorded: (use: ProofUse) => Promise<AppError>
}

/** Records a use, if it is the first one in its epoch, and returns its id. */
export const recordUse = compiledOnce((db, { useId, useExpires, epoch }: ProofUse) =>
  db
    .insertInto('used_proofs')
    .columns(['id', 'expires_at'])
    .expression((of) =>
      of
        .selectFrom('proof_epoch')
        .select([of.val(useId).as('id'), of.val(useExpires).as('expires_at')])
        .where('epoch', '=', epoch),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('used_proofs.id'),
)

export function newProofs({
  db,
  now,
  publicUrl,
  background,
}: Pick<ServiceContext, 'db' | 'now' | 'publicUrl' | 'background'>): Proofs {
  const epochs = newProofEpochs(db)
  const sweep = newSweep(
    { db, background, now },
    {
      name: 'sweep of used proofs',
      everyMs: SWEEP_MS,
      batch: (at, most) =>
        db
          .deleteFrom('used_proofs')
          .where('id', 'in', (query) =>
            query
              .selectFrom('used_proofs')
              .select('id')
              // A device's clock may be ahead.
              .where('id', '<', idsAt(Math.ceil((at - REPLAY_MS) / 1000) + LEEWAY_S))
              .where('expires_at', '<=', at)
              .limit(most),
          )
          .executeTakeFirstOrThrow(),
    },
  )

  const mac = (secret: Buffer, message: string, length: number) =>
    createHmac('sha256', secret).update(message).digest().subarray(0, length).toString('base64url')

  /**
   * Returns the nonce of a time slot. It begins with a tag of the epoch. Every replica computes the
   * same nonce, so none is stored.
   */
  const nonceOf = (secret: Buffer, slot: number) =>
    mac(secret, 'epoch', TAG_BYTES) + mac(secret, `nonce ${slot}`, 16)

  let latest = { epoch: '', slot: -1, nonce: '', previous: '' }

  /**
   * Returns the nonces of the current and the previous slot. They are cached, because every answer
   * to a proof carries the current one.
   */
  async function noncesNow(): Promise<typeof latest> {
    const slot = Math.floor(now() / SLOT_MS)
    const { epoch, secret } = await epochs.current()
    if (latest.slot !== slot || latest.epoch !== epoch) {
      const [nonce, previous] = [nonceOf(secret, slot), nonceOf(secret, slot - 1)]
      latest = { epoch, slot, nonce, previous }
    }
    return latest
  }

  /** Returns the epoch of a nonce. */
  async function requireNonce(found: string | null): Promise<string> {
    const { epoch, nonce, previous } = await noncesNow()
    if (found === nonce || found === previous) return epoch
    // Another replica may have begun an epoch that this one does not know yet. Only a nonce with
    // another tag is worth a query.
    const isOfEpoch = found?.startsWith(nonce.slice(0, TAG_LENGTH)) === true
    if (found !== null && !isOfEpoch && (await epochs.hasEnded(epoch))) return requireNonce(found)
    throw nonceRequired(nonce)
  }

  const useOf: Proofs['useOf'] = ({ thumbprint, jti, iat, epoch }) => {
    sweep()
    return {
      useId: idsAt(iat) + hash('sha256', `proof ${thumbprint} ${jti}`, 'base64url'),
      useExpires: now() + REPLAY_MS,
      epoch,
    }
  }

  const unrecorded: Proofs['unrecorded'] = async ({ epoch }) =>
    (await epochs.hasEnded(epoch)) ? nonceRequired((await noncesNow()).nonce) : proofUsed()

  return {
    nonce: async () => (await noncesNow()).nonce,
    useOf,
    unrecorded,

    verify: async (proof, accessToken) => {
      const expected = { origin: publicUrl(), accessToken, now: now() }
      const { thumbprint, jti, iat, nonce } = await checkProof(proof, expected)
      return { thumbprint, jti, iat, epoch: await requireNonce(nonce) }
    },

    use: async (shown) => {
      const use = useOf(shown)
      const rows = await recordUse(db, use)
      if (rows.length === 0) throw await unrecorded(use)
    },
  }
}
