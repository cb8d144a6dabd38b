/** The notifications of an account. Operations ignore ids of other accounts. */
import type { Kysely } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import type { Notification } from '../../api/rest/notifications.ts'
import { NOTIFICATION_PREFIX } from './notices.ts'
import { pageRows } from '../db/page-rows.ts'
import type { Schema } from '../db/schema.ts'

const resource = (row: Schema['notifications']): Notification => ({
  id: row.id,
  kind: row.kind,
  title: row.title,
  body: row.body,
  data: JSON.parse(row.data) as Record<string, string>,
  read: row.read_at !== null,
  created_at: timeAt(row.created_at),
})

/**
 * @param markExpired called before a list is read: marks the expired invitations of the account
 */
export const notifications = (
  { db, now }: { db: Kysely<Schema>; now: () => number },
  markExpired: (account: string) => Promise<void>,
): Service['notifications'] => ({
  list: async ({ unread, ...page }, { account }) => {
    await markExpired(account)
    const rows = await pageRows(
      db
        .selectFrom('notifications')
        .selectAll()
        .where('account_id', '=', account)
        .$if(unread !== undefined, (query) =>
          query.where('read_at', unread === true ? 'is' : 'is not', null),
        ),
      page,
      NOTIFICATION_PREFIX,
    )
    return pageOf(rows.map(resource), page)
  },

  delete: async ({ id: ids }, { account }) => {
    if (ids?.length === 0) return { deleted: 0 }
    const { numDeletedRows: deleted } = await db
      .deleteFrom('notifications')
      .where('account_id', '=', account)
      .$if(ids !== undefined, (query) => query.where('id', 'in', ids ?? []))
      .executeTakeFirst()
    return { deleted: Number(deleted) }
  },

  read: async ({ body: { ids } }, { account }) => {
    if (ids?.length === 0) return { read: 0 }
    const { numUpdatedRows: read } = await db
      .updateTable('notifications')
      .set({ read_at: now() })
      .where('account_id', '=', account)
      .where('read_at', 'is', null)
      .$if(ids !== undefined, (query) => query.where('id', 'in', ids ?? []))
      .executeTakeFirst()
    return { read: Number(read) }
  },
})
