/**
 * Notifications of accounts. A notification is stored in the same transaction as the change that it
 * reports. The account that made a change is not notified, except of changes to its own devices,
 * keys and addresses.
 */
import type { Kysely, Transaction } from 'kysely'
import { pageOf } from '../../api/cursor.ts'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { type Notification, NotificationKind } from '../../api/rest/notifications.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { keepNewest, ofPage, onPage, type PageValues } from '../db/collections.ts'
import { compiledOnce } from '../db/compiled.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

const NOTIFICATION_PREFIX = 'ntf_'

/**
 * How many notifications are kept for each account: the newest of the kinds that strangers, or one
 * stolen device, can often cause, and separately the newest of the other kinds.
 */
const MOST = 500
const FREQUENT: readonly NotificationKind[] = [
  'invitation_received',
  'invitation_withdrawn',
  'invitation_expired',
  'open_link_request',
  'org_invited',
  'org_alert',
  'org_activated',
  'org_suspended',
  'org_role_changed',
  'webhook_given_up',
]
const RARE = NotificationKind.options.filter((kind) => !FREQUENT.includes(kind))
/** How many rows one query writes at most. */
const AT_ONCE = 200

/**
 * A notification to store. Title and body are texts of the server without links and secrets. Names
 * that others wrote must be quoted with `plainName` or `quoted`.
 */
export interface Note {
  readonly kind: NotificationKind
  readonly title: string
  readonly body: string
  /** The ids of what the notification is about, by name. */
  readonly data: Record<string, string>
}

/**
 * Notifies one account. Call this at the end of a transaction, after it has locked all other rows
 * that other transactions may also lock.
 * @param at Unix milliseconds
 */
export const notify = (
  trx: Transaction<Schema>,
  account: string,
  note: Note,
  at: number,
): Promise<void> => notifyAll(trx, new Map([[account, note]]), at)

/**
 * Notifies several accounts. An account may be listed several times, with different notifications.
 * Call this at the end of a transaction, as `notify`.
 * @param at Unix milliseconds
 */
export async function notifyAll(
  trx: Transaction<Schema>,
  notes: Iterable<readonly [account: string, note: Note]>,
  at: number,
): Promise<void> {
  // In the order of account ids, so that two transactions cannot deadlock.
  const all = [...notes].sort(([a], [b]) => (a < b ? -1 : 1))
  for (let from = 0; from < all.length; from += AT_ONCE) {
    const rows = all
      .slice(from, from + AT_ONCE)
      .map(([account_id, { kind, title, body, data }]) => {
        const row = { kind, title, body, data: JSON.stringify(data) }
        return {
          id: newId(NOTIFICATION_PREFIX, at),
          account_id,
          ...row,
          read_at: null,
          created_at: at,
        }
      })
    await trx.insertInto('notifications').values(rows).execute()
    const accounts = rows.map(({ account_id }) => account_id)
    await forgetOldest(trx, accounts)
    markChanged(trx, ['notifications'], { accounts })
  }
}

/** Returns a pattern for data with these ids: the JSON that `notifyAll` stores, without braces. */
const likeData = (about: Record<string, string>) => `%${JSON.stringify(about).slice(1, -1)}%`

/**
 * Returns whether an account has a notification.
 * @param about as for `forgetNotes`
 */
export async function hasNote(
  trx: Transaction<Schema>,
  account: string,
  kind: NotificationKind,
  about: Record<string, string>,
): Promise<boolean> {
  const row = await trx
    .selectFrom('notifications')
    .select('id')
    .where('account_id', '=', account)
    .where('kind', '=', kind)
    .where('data', 'like', likeData(about))
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Deletes an account's notifications that no longer apply. Call this at the end of a transaction,
 * as `notify`.
 * @param about all or some consecutive ids of the notification's data, in their order there
 */
export async function forgetNotes(
  trx: Transaction<Schema>,
  account: string,
  kinds: readonly NotificationKind[],
  about: Record<string, string>,
): Promise<void> {
  const { numDeletedRows: deleted } = await trx
    .deleteFrom('notifications')
    .where('account_id', '=', account)
    .where('kind', 'in', kinds)
    .where('data', 'like', likeData(about))
    .executeTakeFirstOrThrow()
  if (deleted > 0n) markChanged(trx, ['notifications'], { accounts: [account] })
}

/**
 * Deletes all but the newest notifications of each account. Notifications of the
 * frequent kinds do not displace the others.
 */
async function forgetOldest(trx: Transaction<Schema>, accounts: readonly string[]) {
  const full = await trx
    .selectFrom('notifications')
    .select('account_id')
    .where('account_id', 'in', accounts)
    .groupBy('account_id')
    .having(({ fn }) => fn.countAll(), '>', MOST)
    .orderBy('account_id')
    .execute()
  // One account at a time, because the oldest row to keep must be looked up for each.
  for (const { account_id: account } of full)
    for (const values of [FREQUENT, RARE])
      await keepNewest(trx, 'notifications', account, MOST, { column: 'kind', values })
}

/** Returns the query for a page of notifications. `read` is the condition for `read_at`, if any. */
const pageOfThose = (read: 'is' | 'is not' | null) =>
  compiledOnce((db, values: PageValues & { readonly account: string }) =>
    onPage(
      db
        .selectFrom('notifications')
        .selectAll()
        .where('account_id', '=', values.account)
        .$if(read !== null, (query) => query.where('read_at', read!, null)),
      values,
    ),
  )

const PAGES = { any: pageOfThose(null), unread: pageOfThose('is'), read: pageOfThose('is not') }

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
 * Returns the operations on an account's notifications.
 * @param markExpired called before a list is read; marks the account's expired invitations
 */
export const notifications = (
  { db, now }: { db: Kysely<Schema>; now: () => number },
  markExpired: (account: string) => Promise<void>,
): Service['notifications'] => ({
  list: async ({ unread, ...page }, { account }) => {
    await markExpired(account)
    const pageIn = unread === undefined ? PAGES.any : unread ? PAGES.unread : PAGES.read
    const rows = await pageIn(db, { ...ofPage(page, NOTIFICATION_PREFIX), account })
    return pageOf(rows.map(resource), page)
  },

  delete: async ({ id: ids }, { account }) => {
    if (ids?.length === 0) return { deleted: 0 }
    return transactionWithMarks(db, async (trx) => {
      const { numDeletedRows: deleted } = await trx
        .deleteFrom('notifications')
        .where('account_id', '=', account)
        .$if(ids !== undefined, (query) => query.where('id', 'in', ids ?? []))
        .executeTakeFirst()
      if (deleted > 0n) markChanged(trx, ['notifications'], { accounts: [account] })
      return { deleted: Number(deleted) }
    })
  },

  read: async ({ body: { ids } }, { account }) => {
    if (ids?.length === 0) return { read: 0 }
    return transactionWithMarks(db, async (trx) => {
      const { numUpdatedRows: read } = await trx
        .updateTable('notifications')
        .set({ read_at: now() })
        .where('account_id', '=', account)
        .where('read_at', 'is', null)
        .$if(ids !== undefined, (query) => query.where('id', 'in', ids ?? []))
        .executeTakeFirst()
      if (read > 0n) markChanged(trx, ['notifications'], { accounts: [account] })
      return { read: Number(read) }
    })
  },
})
