/**
 * The epoch of used proofs: the time since their table was empty. PostgreSQL empties the table of
 * used proofs and the table of the epoch together, after a crash and when a standby is promoted.
 * The next server then creates another epoch, with another secret for nonces, so that no proof of
 * the former epoch is accepted again.
 */
import type { Kysely } from 'kysely'
import { randomBytes } from 'node:crypto'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { Schema } from './schema.ts'

export interface ProofEpoch {
  /** The name of the epoch. */
  readonly epoch: string
  /** The secret from which the nonces are computed. */
  readonly secret: Buffer
}

const newText = (bytes: number) => encodeBase64url(randomBytes(bytes))

async function openEpoch(db: Kysely<Schema>): Promise<ProofEpoch> {
  await db
    .insertInto('proof_epoch')
    .values({ id: 1, epoch: newText(16), secret: newText(32) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const { epoch, secret } = await db
    .selectFrom('proof_epoch')
    .select(['epoch', 'secret'])
    .executeTakeFirstOrThrow()
  return { epoch, secret: Buffer.from(secret, 'base64url') }
}

/** Returns functions that read the epoch and cache it. All replicas share it. */
export function newProofEpochs(db: Kysely<Schema>) {
  let cached: Promise<ProofEpoch> | null = null
  return {
    /** Returns the epoch that this server knows. It may have ended. */
    current: (): Promise<ProofEpoch> =>
      (cached ??= openEpoch(db).catch((error: unknown) => {
        cached = null
        throw error
      })),
    /** Returns whether an epoch has ended. If so, the next call of `current` reads the new one. */
    async hasEnded(epoch: string): Promise<boolean> {
      const row = await db
        .selectFrom('proof_epoch')
        .select('id')
        .where('epoch', '=', epoch)
        .executeTakeFirst()
      if (row !== undefined) return false
      if (cached !== null && (await cached).epoch === epoch) cached = null
      return true
    },
  }
}
