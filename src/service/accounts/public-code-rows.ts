/**
 * The secrets of public codes in the database. Each change gets the next turn number, so that the
 * changes since a known turn can be found.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'

/**
 * Returns the next turn number. The counter stays locked until the transaction ends, so a turn is
 * never visible before a lower one.
 */
export async function nextTurn(trx: Transaction<Schema>): Promise<number> {
  const { turn } = await trx
    .updateTable('public_code_turns')
    .set((of) => ({ turn: of('turn', '+', 1) }))
    .returning('turn')
    .executeTakeFirstOrThrow()
  return turn
}

/**
 * Selects the codes with a secret. A few of them are not active, because their owners have not
 * switched them on yet.
 */
export const sharedCodes = (db: Kysely<Schema>) =>
  db
    .selectFrom('public_codes')
    .select(['public_codes.account_id', 'k', 'turn'])
    .where('k', 'is not', null)
    .$narrowType<{ k: string }>()

/**
 * Selects the active codes (docs/protocol.md section 6): the server has the secret, and the owner
 * has not switched the code off.
 */
export const activeCodes = (db: Kysely<Schema>) =>
  sharedCodes(db)
    .innerJoin('preferences', 'preferences.account_id', 'public_codes.account_id')
    .where('public_code', '=', 1)

/** A look-up computes the words of at most this many codes. More codes need the table of words. */
export const FEW_CODES = 100

/** Returns whether more than `count` codes with a secret were changed after a turn. */
export async function haveChanged(
  db: Kysely<Schema>,
  turn: number,
  count: number,
): Promise<boolean> {
  const row = await sharedCodes(db)
    .where('turn', '>', turn)
    .orderBy('turn')
    .offset(count)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Stores the secret of an account's public code in place of the previous one. */
export async function keepCode(
  trx: Transaction<Schema>,
  of: { account_id: string; k: string },
): Promise<void> {
  const set = { k: of.k, turn: await nextTurn(trx) }
  await trx
    .insertInto('public_codes')
    .values({ account_id: of.account_id, ...set })
    .onConflict((conflict) => conflict.column('account_id').doUpdateSet(set))
    .execute()
  markChanged(trx, ['public_code'], { accounts: [of.account_id] })
}

/**
 * Switches an account's code off, as its owner can. Called when a device is revoked, because the
 * revoked device still has the secret.
 */
export async function switchOff(trx: Transaction<Schema>, account: string): Promise<void> {
  await endCode(trx, account, await nextTurn(trx))
  await trx
    .updateTable('preferences')
    .set({ public_code: 0 })
    .where('account_id', '=', account)
    .execute()
}

/** Deletes the secret of a code. The row stays. */
export async function endCode(
  trx: Transaction<Schema>,
  account: string,
  turn: number,
): Promise<void> {
  await trx
    .updateTable('public_codes')
    .set({ k: null, turn })
    .where('account_id', '=', account)
    .execute()
  markChanged(trx, ['public_code'], { accounts: [account] })
}
