/**
 * Secrets in the database that all replicas share, such as the key of signed links. Another is the
 * key that signs receipts. Devices pin that key when they enrol, so it never changes.
 */
import type { Kysely } from 'kysely'
import { randomBytes } from 'node:crypto'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { PublicJwk } from '../../crypto/jose/jwk.ts'
import type { Schema } from './schema.ts'

export type SecretName = 'download links' | 'address proofs'

/**
 * Returns a function that reads a secret of 32 bytes. The first server creates the secret, and each
 * server reads it once.
 * @returns the function; after a failure, the next call tries again
 */
export function newServerSecret(db: Kysely<Schema>, name: SecretName): () => Promise<Buffer> {
  async function open(): Promise<Buffer> {
    await db
      .insertInto('server_secrets')
      .values({ name, secret: randomBytes(32).toString('base64url') })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const row = await db
      .selectFrom('server_secrets')
      .select('secret')
      .where('name', '=', name)
      .executeTakeFirstOrThrow()
    return Buffer.from(row.secret, 'base64url')
  }

  let shared: Promise<Buffer> | null = null
  return () =>
    (shared ??= open().catch((error: unknown) => {
      shared = null
      throw error
    }))
}

export interface ReceiptKey {
  readonly kid: string
  readonly jwk: PublicJwk
  readonly seed: Uint8Array
}

/**
 * Returns a function that returns the receipt key. The first call of that function reads or creates
 * the key.
 */
export function lazyReceiptKey(db: Kysely<Schema>): () => Promise<ReceiptKey> {
  let key: Promise<ReceiptKey> | null = null
  return () =>
    (key ??= openReceiptKey(db).catch((error: unknown) => {
      key = null
      throw error
    }))
}

async function openReceiptKey(db: Kysely<Schema>): Promise<ReceiptKey> {
  const [{ signingKeyFrom }, { thumbprint }] = await Promise.all([
    import('../../crypto/device-keys.ts'),
    import('../../crypto/jose/jwk.ts'),
  ])
  const candidate = encodeBase64url(randomBytes(32))
  await db
    .insertInto('receipt_key')
    .values({ id: 1, seed: candidate })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const row = await db.selectFrom('receipt_key').select('seed').executeTakeFirstOrThrow()
  const seed = decodeBase64url(row.seed)
  const { jwk } = signingKeyFrom(seed)
  return { kid: thumbprint(jwk), jwk, seed }
}
