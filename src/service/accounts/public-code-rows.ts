/** The secrets of public codes as the table has them. Every change takes the next turn, by which replicas learn of it. */
import type { Kysely, Transaction } from 'kysely'
import type { Schema } from '../db/schema.ts'

/** The next turn. Whoever takes it holds it until the transaction ends, so that none is seen before an earlier one. */
export async function nextTurn(trx: Transaction<Schema>): Promise<number> {
  const { turn } = await trx
    .updateTable('public_code_turns')
    .set((of) => ({ turn: of('turn', '+', 1) }))
    .returning('turn')
    .executeTakeFirstOrThrow()
  return turn
}

/** All that ever were, and what their owners prefer now. */
export const codes = (db: Kysely<Schema>) =>
  db
    .selectFrom('public_codes')
    .leftJoin('preferences', 'preferences.account_id', 'public_codes.account_id')
    .select(['public_codes.account_id', 'k', 'turn', 'public_code'])

/** Those that are active: the server has their secret, and their owners have not switched them off (section 6). */
export const activeCodes = (db: Kysely<Schema>) =>
  codes(db).where('k', 'is not', null).where('public_code', '=', 1).$narrowType<{ k: string }>()

/** Keep the secret of an account's public code, in place of the one before. */
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
}

/** Switch the code of an account off, as its owner does: whoever has a device that is revoked knows its secret. */
export async function switchOff(trx: Transaction<Schema>, account: string): Promise<void> {
  await endCode(trx, account, await nextTurn(trx))
  await trx
    .updateTable('preferences')
    .set({ public_code: 0 })
    .where('account_id', '=', account)
    .execute()
}

/** Forget the secret; the row stays to tell of it. */
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
}
