/** Database locks, which all replicas share. */
import type { Kysely, Transaction } from 'kysely'
import { compiledOnce } from './compiled.ts'
import type { Schema } from './schema.ts'
import type { SecretName } from './server-secrets.ts'
import { transactionWithMarks } from './sync-marks.ts'

/**
 * Acquires a named lock until the transaction ends. It writes a row, which both database engines
 * lock.
 */
export async function acquireLock(
  trx: Transaction<Schema>,
  name: Exclude<Schema['server_secrets']['name'], SecretName>,
): Promise<void> {
  await trx
    .insertInto('server_secrets')
    .values({ name, secret: '' })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ secret: '' }))
    .execute()
}

/** This update changes nothing. It locks the row in both database engines. */
const lockRow = compiledOnce((db, { account }: { account: string }) =>
  db
    .updateTable('accounts')
    .set((of) => ({ display_name: of.ref('display_name') }))
    .where('id', '=', account),
)

/**
 * Locks an account until the transaction ends, if the account exists. This also locks its key log.
 */
export async function lockAccount(trx: Transaction<Schema>, account: string): Promise<void> {
  await lockRow(trx, { account })
}

/** Runs `work` in a transaction that has locked the account. */
export const withAccountLock = <T>(
  db: Kysely<Schema>,
  account: string,
  work: (trx: Transaction<Schema>) => Promise<T>,
): Promise<T> =>
  transactionWithMarks(db, async (trx) => {
    await lockAccount(trx, account)
    return work(trx)
  })
