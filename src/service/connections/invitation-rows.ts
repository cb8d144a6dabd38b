/**
 * Invitations as the table has them. One is for an account, or for a mailbox: whose that is, nobody is told before whoever has it
 * approves, and then the owners of the connection are.
 */
import type { ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { Member } from '../../api/rest/connections.ts'
import type { Invitation } from '../../api/rest/invitations.ts'
import { serverName } from '../../api/rest/names.ts'
import type { Schema } from '../db/schema.ts'

type Row = Schema['invitations']

export const PREFIX = 'inv_'

/** An invitation with the names of both sides, which may change. */
export const invitations = (db: Kysely<Schema>) =>
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

export type Named = Awaited<ReturnType<ReturnType<typeof invitations>['executeTakeFirstOrThrow']>>

/** For whoever approves on the last day, the device that invited still has one to take them in. */
const GRACE_MS = 24 * 3_600_000

/** As decided, or by the clock: also for who approved and was not taken in. */
export function stateOf(
  { state, consent, expires_at }: Pick<Row, 'state' | 'consent' | 'expires_at'>,
  at: number,
): Invitation['state'] {
  const isOver =
    (state === 'pending' && expires_at <= at) || (consent === 1 && expires_at <= at - GRACE_MS)
  return isOver ? 'expired' : state
}

/** Whether an invitation has expired, and no row stores that yet. */
export const isOver = (of: ExpressionBuilder<Schema, 'invitations'>, at: number) =>
  of.or([
    of.and([of('state', '=', 'pending'), of('expires_at', '<=', at)]),
    of.and([of('consent', '=', of.lit(1)), of('expires_at', '<=', at - GRACE_MS)]),
  ])

/** `stateOf` as a condition. */
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

export const resource = (
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

/** Approved by somebody who waits to be taken in, not for too long. */
export const isWaiting = (of: ExpressionBuilder<Schema, 'invitations'>, at: number) =>
  // The 1 as the index says it.
  of.and([of('consent', '=', of.lit(1)), of('expires_at', '>', at - GRACE_MS)])

/** Undecided, or approved by somebody who waits to be taken in: it keeps a place. */
export const isStanding = (of: ExpressionBuilder<Schema, 'invitations'>, at: number) =>
  of.or([of.and([of('state', '=', 'pending'), of('expires_at', '>', at)]), isWaiting(of, at)])

/** To the mailbox of this invitation of the connection, by whichever owner; to no account yet. */
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

/** The invitations to connections that keep a place there. */
export const standing = (db: Kysely<Schema>, connections: readonly string[], at: number) =>
  db
    .selectFrom('invitations')
    .leftJoin('accounts', 'accounts.id', 'to_account')
    .select(['connection_id', 'from_account', 'to_account', 'to_email', 'display_name'])
    .select(['invitations.id as id', 'state', 'consent'])
    .where('connection_id', 'in', connections)
    .where((of) => isStanding(of, at))
    .orderBy('invitations.id')

export type Standing = Awaited<ReturnType<ReturnType<typeof standing>['executeTakeFirstOrThrow']>>

/** Those of one connection as members of it, each once. */
export function invitedIn(invited: readonly Standing[]): Member[] {
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
 * @param of `account`: the inviter, who left or is an owner no longer; null for every inviter
 * @param at Unix milliseconds
 * @returns the invitations, as they were before
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
      isStanding(of, at),
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
 * Whoever goes leaves the invitations of a connection behind that were sent to their mailboxes meanwhile: coming back takes one that is
 * made, or made again, after that. Its sender is told nothing, for the mailbox may be anybody's: it stays pending, and has served.
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

/** Whether one that is pending has been left behind. */
export const isLeftBehind = ({ state, consent }: Pick<Row, 'state' | 'consent'>): boolean =>
  state === 'pending' && consent === 2

/**
 * It is made again: what is pending says what it would say now, is good for as long as a new one, never for less than it was, and what
 * was left behind may be answered from now on.
 */
export async function askAgain(
  trx: Transaction<Schema>,
  { id, state }: Standing,
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
        .then(expires_at)
        .else(of.ref('expires_at'))
        .end(),
    }))
    .where('id', '=', id)
    .execute()
}

/** Whoever invites, what they call the connection, and what their invitations to it say. */
export interface Inviter {
  readonly account: string
  readonly connection: string
  readonly name: string
  /** What they wrote to whom they invite. */
  readonly message: string | null
  /** For how long their invitations are good. */
  readonly goodForMs: number
}

/** Whom it is for; one of the two is null. */
export interface Target {
  readonly account: string | null
  /** In lower case. */
  readonly email: string | null
}
