/** What an account arranges for itself: tags and presets. Whatever changes some of it waits for whatever else does. */
import type { Kysely, Transaction } from 'kysely'
import { AppError } from '../errors.ts'
import { holdKeyLog } from './key-logs.ts'
import type { Schema } from './schema.ts'

/** Change something in a transaction, in which nobody else changes what the account has arranged. */
export const arranging = <T>(
  db: Kysely<Schema>,
  account: string,
  work: (trx: Transaction<Schema>) => Promise<T>,
): Promise<T> =>
  db.transaction().execute(async (trx) => {
    await holdKeyLog(trx, account)
    return work(trx)
  })

/** Throws AppError `conflict` where an account has as many of something as it may. */
export function demandFewer(count: number, most: number, what: string): void {
  if (count >= most)
    throw new AppError('conflict', `An account has at most ${most} ${what}: delete one first.`)
}

/** As people read a name: two that differ in nothing else would be taken for each other. */
export const folded = (name: string) => name.normalize('NFC').trim().toLowerCase()
