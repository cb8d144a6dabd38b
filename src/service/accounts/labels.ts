/** What an account arranges for itself: tags and presets. Whatever changes some of it waits for whatever else does. */
import type { Kysely, Transaction } from 'kysely'
import { AppError } from '../../errors.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'

/** Change something in a transaction, in which nobody else changes what the account has arranged. */
export const arranging = <T>(
  db: Kysely<Schema>,
  account: string,
  work: (trx: Transaction<Schema>) => Promise<T>,
): Promise<T> =>
  db.transaction().execute(async (trx) => {
    await lockAccount(trx, account)
    return work(trx)
  })

/** Throws AppError `conflict` where an account, or whoever else is named, has as many of something as it may. */
export function demandFewer(count: number, most: number, what: string, who = 'An account'): void {
  if (count >= most)
    throw new AppError('conflict', `${who} has at most ${most} ${what}: delete one first.`)
}

/** As people read a name: two that differ in nothing else would be taken for each other. */
const folded = (name: string) => name.normalize('NFC').trim().toLowerCase()

/**
 * Throws AppError `conflict` where one of these, other than `own`, has the name.
 * @param who has the others, and with what verb: "You have a tag"
 */
export function demandNewName(
  names: readonly { readonly id: string; readonly name: string }[],
  name: string,
  { own, who }: { own: string | null; who: string },
): void {
  if (names.some((one) => one.id !== own && folded(one.name) === folded(name)))
    throw new AppError('conflict', `${who} of this name already: choose another name.`)
}
