/** Locks that all replicas share. */
import type { Kysely, Transaction } from 'kysely'
import type { Schema } from './schema.ts'

/** Acquires a named lock until the transaction ends: both engines lock a row that was written. */
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

/** Locks the key log of an account, if the account exists, until the transaction ends. */
export async function lockAccount(trx: Transaction<Schema>, account: string): Promise<void> {
  // Changes nothing: an update is the row lock that both engines support.
  await trx
    .updateTable('accounts')
    .set((of) => ({ display_name: of.ref('display_name') }))
    .where('id', '=', account)
    .execute()
}

/** Runs a change in a transaction that holds the lock of the account. */
export const withAccountLock = <T>(
  db: Kysely<Schema>,
  account: string,
  work: (trx: Transaction<Schema>) => Promise<T>,
): Promise<T> =>
  db.transaction().execute(async (trx) => {
    await lockAccount(trx, account)
    return work(trx)
  })
