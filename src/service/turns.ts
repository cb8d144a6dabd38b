/** What is done one at a time, by all replicas together. */
import type { Transaction } from 'kysely'
import type { Schema } from './schema.ts'

/** Wait for the turn, and hold it until the transaction ends: both engines hold a row that was written. */
export async function holdTurn(
  trx: Transaction<Schema>,
  name: Exclude<Schema['server_secrets']['name'], 'nonce' | 'download links'>,
): Promise<void> {
  await trx
    .insertInto('server_secrets')
    .values({ name, secret: '' })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ secret: '' }))
    .execute()
}
