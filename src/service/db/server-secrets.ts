/** Secrets of a database that all replicas share, such as what their links are signed with. */
import { randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Schema } from './schema.ts'

/**
 * A secret of 32 bytes, made by the first server that needs it, and read once by each.
 * @returns asks for it; an attempt that failed is made anew
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
