/** The labels of an account: tags and presets. Changes to them run one at a time per account. */
import type { Kysely, Transaction } from 'kysely'
import { AppError } from '../../errors.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'

/** Runs a change in a transaction with a lock on the account's labels. */
export const withAccountLock = <T>(
  db: Kysely<Schema>,
  account: string,
  work: (trx: Transaction<Schema>) => Promise<T>,
): Promise<T> =>
  db.transaction().execute(async (trx) => {
    await lockAccount(trx, account)
    return work(trx)
  })

/** Throws AppError `conflict` if the owner named by `who` has the maximum number of items. */
export function requireFewer(count: number, most: number, what: string, who = 'An account'): void {
  if (count >= most)
    throw new AppError('conflict', `${who} has at most ${most} ${what}: delete one first.`)
}

/**
 * Returns a name for comparison: names that differ only in case, spaces or normal form look
 * alike.
 */
const folded = (name: string) => name.normalize('NFC').trim().toLowerCase()

/**
 * Throws AppError `conflict` if an entry with another id than `own` has the name.
 * @param who the owner of the others and a verb: "You have a tag"
 */
export function requireNewName(
  names: readonly { readonly id: string; readonly name: string }[],
  name: string,
  { own, who }: { own: string | null; who: string },
): void {
  if (names.some((one) => one.id !== own && folded(one.name) === folded(name)))
    throw new AppError('conflict', `${who} of this name already: choose another name.`)
}
