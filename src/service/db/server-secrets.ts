/** Secrets of a database that all replicas share, such as the key of signed links. */
import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Schema } from './schema.ts'

/**
 * Returns a reader for a secret of 32 bytes, which the first server makes and each server reads
 * once.
 * @returns the reader; after a failure it tries again
 */
export function newServerSecret(
  db: Kysely<Schema>,
  name: 'nonce' | 'download links',
): () => Promise<Buffer> {
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
