/**
 * What happens when invitations end: finds the accounts that received them, and marks expired ones.
 */
import type { Kysely } from 'kysely'
import { lockConnection, roleIn } from './connection-rows.ts'
import { accountAt, displayName } from '../accounts/account-record.ts'
import { markInvitationsNamed } from '../accounts/invitation-marks.ts'
import type { ServiceContext } from '../context.ts'
import { compiledOnce } from '../db/compiled.ts'
import { endsAt, isLeftBehind, isOver, occupiesPlace } from './invitation-rows.ts'
import type { Receiver } from '../events.ts'
import type { Schema } from '../db/schema.ts'

type Row = Schema['invitations']

/** An invitation that just ended, with the values that it had before. */
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

/** Returns the invited account; null for a mailbox without an account. */
const invitedBy = async (db: Kysely<Schema>, { to_account, to_email }: Ended) =>
  to_account ?? (await accountAt(db, to_email!))

/**
 * Returns whether the account's list contains the invitation. A member does not see invitations to
 * the same connection.
 */
const isListedBy = async (db: Kysely<Schema>, row: Ended, account: string) =>
  !isLeftBehind(row) && (await roleIn(db, row.connection_id, account)) === null

/** Returns the account that had received an invitation, as a list with at most one item. */
async function receiverOf(db: Kysely<Schema>, row: Ended): Promise<Receiver[]> {
  const account = await invitedBy(db, row)
  if (account === null || account === row.from_account) return []
  return [
    {
      account,
      invitation: row.id,
      connection: row.connection_id,
      connectionName: row.connection_name,
      from: await displayName(db, row.from_account),
      isListed: await isListedBy(db, row, account),
    },
  ]
}

/**
 * Returns the accounts that had received these withdrawn invitations. They were withdrawn by the
 * inviter, or because the connection ended or the inviter may no longer invite. Call this before
 * the inviter's account or the connection is deleted.
 */
export async function receiversOf(db: Kysely<Schema>, rows: readonly Ended[]): Promise<Receiver[]> {
  const receivers: Receiver[] = []
  for (const row of rows) receivers.push(...(await receiverOf(db, row)))
  return receivers
}

/**
 * The maximum number of expired invitations that one call marks, for each of three kinds. The next
 * call marks more.
 */
const MOST = 100

/**
 * Returns the account's sent and received invitations that have expired but are not marked yet. The
 * query has a part for each kind, because each part can use an index.
 */
const overOf = compiledOnce((db, { account, at }: { account: string; at: number }) => {
  const all = () =>
    db
      .selectFrom('invitations')
      .select(['id', 'connection_id'])
      .where((of) => isOver(of, at))
      .limit(MOST)
  const part = (of: ReturnType<typeof all>) => db.selectFrom(of.as('part')).selectAll()
  const mailed = all()
    .where('to_account', 'is', null)
    .where('to_email', 'in', (of) =>
      of.selectFrom('emails').select('address').where('account_id', '=', account),
    )
  return part(all().where('from_account', '=', account))
    .unionAll(part(all().where('to_account', '=', account)))
    .unionAll(part(mailed))
})

/**
 * Returns when the next open invitation of each kind expires; null if there is none. The query has
 * a part for each kind, because each part can use an index. The filter is not a condition:
 * otherwise PostgreSQL may choose the index of all invitations that can expire, and then plans the
 * query at each execution.
 */
const nextEndsOf = compiledOnce((db, { account, at }: { account: string; at: number }) => {
  const first = () =>
    db
      .selectFrom('invitations')
      .select((of) => of.fn.min(endsAt(of)).filterWhere(occupiesPlace(of, at)).as('at'))
  const mailed = first()
    .where('to_account', 'is', null)
    .where('to_email', 'in', (of) =>
      of.selectFrom('emails').select('address').where('account_id', '=', account),
    )
  return first()
    .where('from_account', '=', account)
    .unionAll(first().where('to_account', '=', account))
    .unionAll(mailed)
})

/**
 * Returns when the next open invitation that an account sent or received expires, Unix
 * milliseconds; 0 if there is none.
 */
export async function nextInvitationExpiry(
  db: Kysely<Schema>,
  account: string,
  at: number,
): Promise<number> {
  const rows = await nextEndsOf(db, { account, at })
  const times = rows.flatMap(({ at: one }) => (one === null ? [] : [Number(one)]))
  return times.length === 0 ? 0 : Math.min(...times)
}

/**
 * Marks an account's expired invitations and notifies both sides. Called before an account reads
 * its notifications, because no timer marks expired invitations.
 */
export async function noteExpired(
  { db, events, now }: Pick<ServiceContext, 'db' | 'events' | 'now'>,
  account: string,
): Promise<void> {
  const at = now()
  for (const { id, connection_id } of await overOf(db, { account, at }))
    await events.transaction(async (trx) => {
      await lockConnection(trx, connection_id)
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
        // Clears an open consent, so that the row does not count as expired again.
        .set({ state: 'expired', ...(row.consent === 1 ? { consent: 0 as const } : {}) })
        .where('id', '=', id)
        .execute()
      await markInvitationsNamed(trx, [row])
      await events.publish(trx, {
        type: 'invitation.expired',
        invitation: row.id,
        connection: row.connection_id,
        connectionName: row.connection_name,
        from: row.from_account,
        to: { account: row.to_account, email: row.to_email },
        isApproved: row.state === 'approved',
        receivers: await receiverOf(trx, row),
        at,
      })
    })
}
