/**
 * Rows of invitations. An invitation is for an account or for a mailbox. Others do not learn which
 * account a mailbox belongs to until the account approves. Then the connection's owners see the
 * account.
 */
import {
  type ExpressionBuilder,
  type Kysely,
  type QueryCreator,
  sql,
  type Transaction,
} from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { Member } from '../../api/rest/connections.ts'
import type { Invitation } from '../../api/rest/invitations.ts'
import { serverName } from '../../api/rest/names.ts'
import type { Schema } from '../db/schema.ts'

type Row = Schema['invitations']

export const INVITATION_PREFIX = 'inv_'

/** Selects invitations with the current names of both sides. */
export const selectInvitations = (db: Kysely<Schema>) =>
  db
    .selectFrom('invitations')
    .innerJoin('accounts as sender', 'sender.id', 'from_account')
    .leftJoin('accounts as invited', 'invited.id', 'to_account')
    .leftJoin('emails as mailbox', (join) =>
      join.onRef('mailbox.account_id', '=', 'from_account').on('mailbox.is_primary', '=', 1),
    )
    .selectAll('invitations')
    .select([
      'sender.display_name as from_name',
      'invited.display_name as to_name',
      'mailbox.address as from_email',
    ])

export type Named = Awaited<
  ReturnType<ReturnType<typeof selectInvitations>['executeTakeFirstOrThrow']>
>

/** How long after its expiry an approved invitation can still be used to add the account. */
const GRACE_MS = 24 * 3_600_000

/** Returns when an open invitation expires, as SQL. */
export const endsAt = (of: ExpressionBuilder<Schema, 'invitations'>) =>
  sql<number>`case when ${of.ref('consent')} = 1 then ${of.ref('expires_at')} + ${of.lit(GRACE_MS)} else ${of.ref('expires_at')} end`

/** The sum is in SQL, because a compiled query has no value for `at` while it is built. */
const isInGrace = (of: ExpressionBuilder<Schema, 'invitations'>, at: number) =>
  sql<boolean>`${of.ref('expires_at')} + ${of.lit(GRACE_MS)} > ${at}`

/**
 * Returns an invitation's state at the time `at`. Time can turn the stored state into `expired`,
 * also for an approved invitation if the account was not added in time.
 */
export function stateOf(
  { state, consent, expires_at }: Pick<Row, 'state' | 'consent' | 'expires_at'>,
  at: number,
): Invitation['state'] {
  const isOver =
    (state === 'pending' && expires_at <= at) || (consent === 1 && expires_at <= at - GRACE_MS)
  return isOver ? 'expired' : state
}

/** Returns a condition for invitations that have expired but are not stored as `expired` yet. */
export const isOver = (of: ExpressionBuilder<Schema, 'invitations'>, at: number) =>
  of.or([
    of.and([of('state', '=', 'pending'), of('expires_at', '<=', at)]),
    of.and([of('consent', '=', of.lit(1)), of.not(isInGrace(of, at))]),
  ])

/** Returns a condition for invitations to which `stateOf` gives this state. */
export const isInState = (
  of: ExpressionBuilder<Schema, 'invitations'>,
  state: Invitation['state'],
  at: number,
) =>
  state === 'expired'
    ? of.or([of('state', '=', state), isOver(of, at)])
    : of.and([of('state', '=', state), of.not(isOver(of, at))])

const partyName = (display_name: string | null) =>
  display_name === null
    ? { display_name, name_source: null, name_marks: [] }
    : serverName(display_name)

export const invitationResource = (
  row: Named,
  direction: Invitation['direction'],
  at: number,
): Invitation => ({
  id: row.id,
  direction,
  connection_id: row.connection_id,
  connection_name: row.connection_name,
  from: { user_id: row.from_account, ...partyName(row.from_name), email: row.from_email },
  to: { user_id: row.to_account, ...partyName(row.to_name), email: row.to_email },
  state: stateOf(row, at),
  message: row.message,
  expires_at: timeAt(row.expires_at),
  created_at: timeAt(row.created_at),
})

/** Returns a condition for approved invitations with accounts that can still be added. */
export const isWaiting = (of: ExpressionBuilder<Schema, 'invitations'>, at: number) =>
  // A literal 1, because the database then recognises the condition of the partial index.
  of.and([of('consent', '=', of.lit(1)), isInGrace(of, at)])

/**
 * Returns a condition for invitations that occupy a place in the connection. These are pending
 * invitations, and approved invitations with accounts that can still be added.
 */
export const occupiesPlace = (of: ExpressionBuilder<Schema, 'invitations'>, at: number) =>
  of.or([of.and([of('state', '=', 'pending'), of('expires_at', '>', at)]), isWaiting(of, at)])

/**
 * Returns a condition for invitations to the same connection and mailbox as a given invitation.
 * They may be from any owner, and no account has approved them yet.
 */
export const isOfMailbox = (
  of: ExpressionBuilder<Schema, 'invitations'>,
  connection: string,
  invitation: string,
) =>
  of.and([
    of('to_account', 'is', null),
    of('to_email', '=', (query) =>
      query
        .selectFrom('invitations as named')
        .select('named.to_email')
        .where('named.id', '=', invitation)
        .where('named.connection_id', '=', connection),
    ),
  ])

/** Selects the invitations that occupy a place in these connections. */
export const occupyingInvitations = (
  db: QueryCreator<Schema>,
  connections: readonly string[],
  at: number,
) =>
  db
    .selectFrom('invitations')
    .leftJoin('accounts', 'accounts.id', 'to_account')
    .select(['connection_id', 'from_account', 'to_account', 'to_email', 'display_name'])
    .select(['invitations.id as id', 'state', 'consent'])
    .where('connection_id', 'in', connections)
    .where((of) => occupiesPlace(of, at))
    .orderBy('invitations.id')

export type OccupyingInvitation = Awaited<
  ReturnType<ReturnType<typeof occupyingInvitations>['executeTakeFirstOrThrow']>
>

/** Returns the people invited to one connection as members with the state `invited`, each once. */
export function invitedIn(
  invited: readonly Pick<OccupyingInvitation, 'id' | 'to_account' | 'to_email' | 'display_name'>[],
): Member[] {
  if (invited.length === 0) return []
  const each = new Map(
    invited.map(({ id, to_account: user_id, to_email, display_name }) => [
      user_id ?? to_email,
      { id: user_id ?? id, user_id, ...serverName(display_name ?? to_email ?? '') },
    ]),
  )
  return [...each.values()].map((one) => ({ ...one, role: 'member', state: 'invited' }))
}

/**
 * Withdraws the open invitations of a connection.
 * @param of `account`: the inviter, who left or is no longer an owner; null for every inviter
 * @param at Unix milliseconds
 * @returns the withdrawn invitations, with the values that they had before
 */
export async function withdrawAllOf(
  trx: Transaction<Schema>,
  { connection, account }: { connection: string; account: string | null },
  at: number,
) {
  const isOpen = (of: ExpressionBuilder<Schema, 'invitations'>) =>
    of.and([
      of('connection_id', '=', connection),
      ...(account === null ? [] : [of('from_account', '=', account)]),
      occupiesPlace(of, at),
    ])
  const open = await trx.selectFrom('invitations').selectAll().where(isOpen).execute()
  await trx
    .updateTable('invitations')
    .set({ state: 'withdrawn', consent: 0 })
    .where(isOpen)
    .execute()
  return open
}

/**
 * Disables the pending invitations to the mailboxes of an account that leaves a connection. To join
 * again, the account needs an invitation that is sent or repeated later. The invitations stay
 * pending for the inviter, because a change would reveal which account the mailbox belongs to.
 */
export async function endUnseenOf(
  trx: Transaction<Schema>,
  { connection, account }: { connection: string; account: string },
): Promise<void> {
  await trx
    .updateTable('invitations')
    .set({ consent: 2 })
    .where('connection_id', '=', connection)
    .where('state', '=', 'pending')
    .where('to_email', 'in', (of) =>
      of.selectFrom('emails').select('address').where('account_id', '=', account),
    )
    .execute()
}

/** Returns whether `endUnseenOf` disabled a pending invitation. */
export const isLeftBehind = ({ state, consent }: Pick<Row, 'state' | 'consent'>): boolean =>
  state === 'pending' && consent === 2

/**
 * Repeats an invitation if it is pending. It gets the new message, and the new expiry if that is
 * later. If the invitation was disabled by `endUnseenOf`, it can be answered again.
 */
export async function askAgain(
  trx: Transaction<Schema>,
  { id, state }: OccupyingInvitation,
  { message, expires_at }: Pick<Row, 'message' | 'expires_at'>,
): Promise<void> {
  if (state !== 'pending') return
  await trx
    .updateTable('invitations')
    .set((of) => ({
      consent: 0,
      message,
      expires_at: of
        .case()
        .when('expires_at', '<', expires_at)
        .then(of.val(expires_at))
        .else(of.ref('expires_at'))
        .end(),
    }))
    .where('id', '=', id)
    .execute()
}
