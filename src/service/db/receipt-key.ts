/**
 * The key that signs receipts, one for a server and all its replicas. The first of them that
 * needs it makes it. Devices pin it when they enrol, so it is stored in the database and kept as
 * long.
 */
import type { Kysely } from 'kysely'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { PublicJwk } from '../../crypto/jose/jwk.ts'
import type { Schema } from './schema.ts'

export interface ReceiptKey {
  readonly kid: string
  readonly jwk: PublicJwk
  readonly seed: Uint8Array
}

/** Returns the receipt key of this database, read or made at the first use. */
export function lazyReceiptKey(db: Kysely<Schema>): () => Promise<ReceiptKey> {
  let key: Promise<ReceiptKey> | null = null
  return () =>
    (key ??= openReceiptKey(db).catch((error: unknown) => {
      key = null
      throw error
    }))
}

async function openReceiptKey(db: Kysely<Schema>): Promise<ReceiptKey> {
  const [{ ed25519 }, { publicJwk, thumbprint }] = await Promise.all([
    import('@noble/curves/ed25519.js'),
    import('../../crypto/jose/jwk.ts'),
  ])
  const candidate = encodeBase64url(ed25519.utils.randomSecretKey())
  await db
    .insertInto('receipt_key')
    .values({ id: 1, seed: candidate })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const row = await db.selectFrom('receipt_key').select('seed').executeTakeFirstOrThrow()
  const seed = decodeBase64url(row.seed)
  const jwk = publicJwk(ed25519.getPublicKey(seed))
  return { kid: thumbprint(jwk), jwk, seed }
}
