/**
 * External members: people without an account, to whom an account gives guest codes. Deleting an
 * external member deletes the stored data immediately, and revokes the person's guest codes.
 */
import type { Transaction } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { ExternalMember } from '../../api/rest/guest-codes.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { requireId, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { lockAccount } from '../db/locks.ts'
import { pageRows } from '../db/collections.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

const PREFIX = 'ext_'
/** The maximum number of external members of an account. */
const MOST = 1000

const resource = (row: Schema['external_members']): ExternalMember => ({
  id: row.id,
  display_name: row.display_name,
  email: row.email,
  phone: row.phone,
  note: row.note,
  created_at: timeAt(row.created_at),
})

/**
 * Locks an external member until the transaction ends, so that it cannot be deleted.
 * @throws AppError `not_found` unless it belongs to the account
 */
export async function holdExternalMember(
  trx: Transaction<Schema>,
  { account, id }: { account: string; id: string },
): Promise<void> {
  requireId(PREFIX, id, 'external member')
  // This update changes nothing. It locks the row in both database engines.
  const { numUpdatedRows: locked } = await trx
    .updateTable('external_members')
    .set((of) => ({ display_name: of.ref('display_name') }))
    .where('id', '=', id)
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (locked === 0n) throw notFound('external member')
}

async function requireRoom(trx: Transaction<Schema>, account: string): Promise<void> {
  // Because of this lock, of two concurrent requests the second counts the row of the first.
  await lockAccount(trx, account)
  const { count } = await trx
    .selectFrom('external_members')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account_id', '=', account)
    .executeTakeFirstOrThrow()
  if (Number(count) >= MOST)
    throw new AppError(
      'conflict',
      `There are ${MOST} external members, which is the limit. Delete one that you no longer need.`,
    )
}

export const externalMembers = ({ db, now }: ServiceContext): Service['externalMembers'] => ({
  list: async (page, { account }) => {
    const rows = await pageRows(
      db.selectFrom('external_members').selectAll().where('account_id', '=', account),
      page,
      PREFIX,
    )
    return pageOf(rows.map(resource), page)
  },

  create: ({ body }, { account }) =>
    db.transaction().execute(async (trx) => {
      await requireRoom(trx, account)
      const at = now()
      const { display_name, email = null, phone = null, note = null } = body
      const row = {
        id: newId(PREFIX, at),
        account_id: account,
        display_name,
        email: email?.toLowerCase() ?? null,
        phone,
        note,
        created_at: at,
      }
      await trx.insertInto('external_members').values(row).execute()
      return resource(row)
    }),

  delete: async ({ id }, { account }) => {
    await transactionWithMarks(db, async (trx) => {
      // Because of this lock, a guest code that a concurrent request creates is revoked too.
      await holdExternalMember(trx, { account, id })
      await trx
        .updateTable('guest_codes')
        .set((fields) => ({ revoked_at: fields.fn.coalesce('revoked_at', fields.val(now())) }))
        .where('external_member_id', '=', id)
        .where('account_id', '=', account)
        .execute()
      await trx.deleteFrom('external_members').where('id', '=', id).execute()
      markChanged(trx, ['guest_codes'], { accounts: [account] })
    })
  },
})
