/** What is done one at a time, by all replicas together. */
import type { Transaction } from 'kysely'
import type { Schema } from './schema.ts'

/** Wait for the turn, and hold it until the transaction ends: both engines hold a row that was written. */
export async function acquireLock(
  trx: Transaction<Schema>,
  name: Exclude<Schema['server_secrets']['name'], 'nonce' | 'download links'>,
): Promise<void> {
  await trx
    .insertInto('server_secrets')
    .values({ name, secret: '' })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ secret: '' }))
    .execute()
}

/** Keep others from the log of an account, should it exist, until the transaction ends. */
export async function lockAccount(trx: Transaction<Schema>, account: string): Promise<void> {
  // Changes nothing. It is how both engines hold a row.
  await trx
    .updateTable('accounts')
    .set((of) => ({ display_name: of.ref('display_name') }))
    .where('id', '=', account)
    .execute()
}
