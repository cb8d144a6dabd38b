/** The verification log of an account: written by its devices, kept as they wrote it. The words are not in it. */
import { pageOf, readCursor, rowsFor } from '../api/cursor.ts'
import type { Service } from '../api/port.ts'
import type { LogEntry } from '../api/rest/verify.ts'
import { isId } from '../crypto/id.ts'
import type { Ground } from './ground.ts'
import { noteVerified } from './trust-events.ts'

export const verifications = ({ db, now }: Ground): Service['verifications'] => ({
  /** `accepted` counts what is new; a device may push an entry again when it did not hear the answer. */
  push: async ({ body: { items } }, { account }) => {
    if (items.length === 0) return { accepted: 0 }
    return db.transaction().execute(async (trx) => {
      const { numInsertedOrUpdatedRows: accepted } = await trx
        .insertInto('verifications')
        .values(
          items.map((entry) => ({
            account_id: account,
            id: entry.id,
            entry: JSON.stringify(entry),
          })),
        )
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst()
      await noteVerified(trx, account, items, now())
      return { accepted: Number(accepted) }
    })
  },
})

export const verificationLog = ({ db }: Ground): Service['verificationLog'] => ({
  list: async (page, { account }) => {
    const before = readCursor(page.cursor, (id) => isId('ver_', id))
    const rows = await db
      .selectFrom('verifications')
      .select('entry')
      .where('account_id', '=', account)
      .$if(before !== null, (query) => query.where('id', '<', before))
      .orderBy('id', 'desc')
      .limit(rowsFor(page))
      .execute()
    return pageOf(
      rows.map((row) => JSON.parse(row.entry) as LogEntry),
      page,
    )
  },
})
