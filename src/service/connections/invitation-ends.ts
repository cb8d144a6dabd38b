/**
 * Notifications at the end of an invitation. The notification that asks for an answer is deleted,
 * since the invitation can no longer be approved. Another one replaces it, unless the invited
 * account ended the invitation itself.
 */
import type { Kysely, Transaction } from 'kysely'
import { holdConnection, roleIn } from './connection-rows.ts'
import { accountAt, displayName } from '../accounts/account-record.ts'
import type { Ground } from '../context.ts'
import { isLeftBehind, isOver } from './invitation-rows.ts'
import { named } from '../mail/quoting.ts'
import { type Note, forgetNotes, notifyAll } from '../mail/notices.ts'
import type { Schema } from '../db/schema.ts'

type Row = Schema['invitations']

/** An invitation that just ended, with its values before the end. */
export type Ended = Pick<
  Row,
  | 'id'
  | 'connection_id'
  | 'connection_name'
  | 'from_account'
  | 'to_account'
  | 'to_email'
  | 'state'
  | 'consent'
>

/** The columns of `Ended`. */
export const ENDED = [
  'id',
  'connection_id',
  'connection_name',
  'from_account',
  'to_account',
  'to_email',
  'state',
  'consent',
] as const

/**
 * The end of an invitation at an account: its request is deleted, and `note`, if any, replaces it.
 */
export interface EndNotification {
  readonly account: string
  readonly invitation: string
  readonly note: Note | null
}

const dataOf = ({ id, connection_id }: Ended) => ({ invitation_id: id, connection_id })

/** The invited account; null for a mailbox without an account. */
const invitedBy = async (db: Kysely<Schema>, { to_account, to_email }: Ended) =>
  to_account ?? (await accountAt(db, to_email!))

/**
 * Whether the account's list has the invitation: a member's list has none to that member's mailbox.
 */
const isSeenBy = async (db: Kysely<Schema>, row: Ended, account: string) =>
  !isLeftBehind(row) && (await roleIn(db, row.connection_id, account)) === null

async function forInvited(
  db: Kysely<Schema>,
  row: Ended,
  note: (from: string, connection: string) => Pick<Note, 'kind' | 'title' | 'body'>,
): Promise<EndNotification[]> {
  const account = await invitedBy(db, row)
  if (account === null || account === row.from_account) return []
  const from = named(await displayName(db, row.from_account))
  const isSeen = await isSeenBy(db, row, account)
  const content = isSeen ? { ...note(from, named(row.connection_name)), data: dataOf(row) } : null
  return [{ account, invitation: row.id, note: content }]
}

/**
 * The notifications to invited accounts of invitations withdrawn by the inviter, with the
 * connection, or because the inviter may no longer invite. Call it before the inviter's account is
 * deleted.
 */
export async function withdrawalsOf(
  db: Kysely<Schema>,
  rows: readonly Ended[],
): Promise<EndNotification[]> {
  const withdrawals: EndNotification[] = []
  for (const row of rows)
    withdrawals.push(
      ...(await forInvited(db, row, (from, connection) => ({
        kind: 'invitation_withdrawn',
        title: `${from} withdrew an invitation`,
        body: `The invitation of ${from} to the connection ${connection} was withdrawn: there is nothing to answer any more.`,
      }))),
    )
  return withdrawals
}

/** Deletes and writes the prepared notifications. At the end of a transaction, as `notify`. */
export async function notifyEnds(
  trx: Transaction<Schema>,
  ends: readonly EndNotification[],
  at: number,
): Promise<void> {
  // In one order, as in `notifyAll`.
  for (const { account, invitation } of ends.toSorted((a, b) => (a.account < b.account ? -1 : 1)))
    await forgetNotes(trx, account, ['invitation_received'], { invitation_id: invitation })
  const notes = ends.flatMap(({ account, note }) =>
    note === null ? [] : [[account, note] as const],
  )
  await notifyAll(trx, notes, at)
}

/** The most invitations marked before one list is returned; the next list marks more. */
const MOST = 100

/** The sent and received invitations that have expired. Three queries, as each has an index. */
async function overOf(db: Kysely<Schema>, account: string, at: number) {
  const all = () =>
    db
      .selectFrom('invitations')
      .select(['id', 'connection_id'])
      .where((of) => isOver(of, at))
      .limit(MOST)
  const sent = await all().where('from_account', '=', account).execute()
  const received = await all().where('to_account', '=', account).execute()
  const mailed = await all()
    .where('to_account', 'is', null)
    .where('to_email', 'in', (of) =>
      of.selectFrom('emails').select('address').where('account_id', '=', account),
    )
    .execute()
  return [...sent, ...received, ...mailed]
}

/** The notification to the inviter of an expired invitation. */
async function forInviter(db: Kysely<Schema>, row: Ended): Promise<EndNotification> {
  const who = row.to_account === null ? row.to_email! : named(await displayName(db, row.to_account))
  const connection = named(row.connection_name)
  const note: Note = {
    kind: 'invitation_expired',
    title: `Your invitation of ${who} has expired`,
    body:
      row.state === 'approved'
        ? `${who} approved your invitation to ${connection}, and no device of yours took them in within a day of its end. Invite them again.`
        : `${who} did not answer your invitation to ${connection} in time. Invite them again where you still want to.`,
    data: dataOf(row),
  }
  return { account: row.from_account, invitation: row.id, note }
}

/**
 * Marks an account's expired invitations and notifies both sides. Called before an account reads
 * its notifications, since no timer does it.
 */
export async function noteExpired(
  { db, now }: Pick<Ground, 'db' | 'now'>,
  account: string,
): Promise<void> {
  const at = now()
  for (const { id, connection_id } of await overOf(db, account, at))
    await db.transaction().execute(async (trx) => {
      await holdConnection(trx, connection_id)
      const row = await trx
        .selectFrom('invitations')
        .select(ENDED)
        .where('id', '=', id)
        .where((of) => isOver(of, at))
        .executeTakeFirst()
      // Another request marked it first.
      if (row === undefined) return
      await trx
        .updateTable('invitations')
        // Without an open consent, so that the row is not over once more.
        .set({ state: 'expired', ...(row.consent === 1 ? { consent: 0 as const } : {}) })
        .where('id', '=', id)
        .execute()
      const invited = await forInvited(trx, row, (from, connection) => ({
        kind: 'invitation_expired',
        title: `An invitation of ${from} has expired`,
        body: `The invitation of ${from} to the connection ${connection} has expired. To be in it, ask for another one.`,
      }))
      await notifyEnds(trx, [await forInviter(trx, row), ...invited], at)
    })
}
