/**
 * Telling accounts what happened. A notification is a row beside what it tells of, in the same transaction: it is there when that is,
 * and not else. Whoever did it is not told.
 */
import type { Transaction } from 'kysely'
import { NotificationKind } from '../../api/rest/notifications.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { keepNewest } from '../db/newest.ts'
import type { Schema } from '../db/schema.ts'

export const PREFIX = 'ntf_'

/** So many are kept of an account: the newest that strangers can cause without end, and the newest of all else. */
const MOST = 500
const BY_STRANGERS: readonly NotificationKind[] = [
  'invitation_received',
  'invitation_withdrawn',
  'invitation_expired',
  'open_link_request',
  'org_invited',
  'org_alert',
  'org_activated',
  'org_suspended',
  'org_role_changed',
]
const BY_OTHERS = NotificationKind.options.filter((kind) => !BY_STRANGERS.includes(kind))
/** So many are written by one query. */
const AT_ONCE = 200

/** Titles and bodies are ours; what others wrote is in them as `quoted` gives it. No link and no secret is. */
export interface Note {
  readonly kind: NotificationKind
  readonly title: string
  readonly body: string
  /** The ids of what it is about, by name. */
  readonly data: Record<string, string>
}

/**
 * Tell one account. At the end of a transaction: whoever writes here waits for nobody who waits for them.
 * @param at Unix milliseconds
 */
export const notify = (
  trx: Transaction<Schema>,
  account: string,
  note: Note,
  at: number,
): Promise<void> => notifyAll(trx, new Map([[account, note]]), at)

/**
 * The same for several accounts, each by id with what it is told; one may be told several things.
 * @param at Unix milliseconds
 */
export async function notifyAll(
  trx: Transaction<Schema>,
  notes: Iterable<readonly [account: string, note: Note]>,
  at: number,
): Promise<void> {
  // In one order, so that no two transactions wait for each other.
  const all = [...notes].sort(([a], [b]) => (a < b ? -1 : 1))
  for (let from = 0; from < all.length; from += AT_ONCE) {
    const rows = all
      .slice(from, from + AT_ONCE)
      .map(([account_id, { kind, title, body, data }]) => {
        const said = { kind, title, body, data: JSON.stringify(data) }
        return { id: newId(PREFIX, at), account_id, ...said, read_at: null, created_at: at }
      })
    await trx.insertInto('notifications').values(rows).execute()
    await forgetOldest(
      trx,
      rows.map(({ account_id }) => account_id),
    )
  }
}

/**
 * Delete what an account was told that is not so any more. At the end of a transaction, as
 * `notify`.
 * @param about the ids that the notification is about, or some of them
 */
export async function forgetNotes(
  trx: Transaction<Schema>,
  account: string,
  kinds: readonly NotificationKind[],
  about: Record<string, string>,
): Promise<void> {
  // The form that `notifyAll` writes, without its braces.
  const part = JSON.stringify(about).slice(1, -1)
  await trx
    .deleteFrom('notifications')
    .where('account_id', '=', account)
    .where('kind', 'in', kinds)
    .where('data', 'like', `%${part}%`)
    .execute()
}

/** Keep the newest of each account: what strangers send pushes out nothing that happened to the account itself. */
async function forgetOldest(trx: Transaction<Schema>, accounts: readonly string[]) {
  const full = await trx
    .selectFrom('notifications')
    .select('account_id')
    .where('account_id', 'in', accounts)
    .groupBy('account_id')
    .having(({ fn }) => fn.countAll(), '>', MOST)
    .orderBy('account_id')
    .execute()
  // One by one: the place from which on they go is looked up once for each.
  for (const { account_id: account } of full)
    for (const values of [BY_STRANGERS, BY_OTHERS])
      await keepNewest(trx, 'notifications', account, MOST, { column: 'kind', values })
}
