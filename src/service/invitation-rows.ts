/**
 * Invitations as the table has them. One is for an account, or for a mailbox: whose that is, nobody is told before whoever has it
 * approves, and then the owners of the connection are.
 */
import type { ExpressionBuilder, Kysely, Transaction } from 'kysely'
import { timeAt } from '../api/fields.ts'
import type { Member } from '../api/rest/connections.ts'
import type { Invitation } from '../api/rest/invitations.ts'
import type { Schema } from './schema.ts'

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

/** As decided, or by the clock. */
export const stateOf = (row: Pick<Row, 'state' | 'expires_at'>, at: number): Invitation['state'] =>
  row.state === 'pending' && row.expires_at <= at ? 'expired' : row.state

export const resource = (
  row: Named,
  direction: Invitation['direction'],
  at: number,
): Invitation => ({
  id: row.id,
  direction,
  connection_id: row.connection_id,
  connection_name: row.connection_name,
  from: { user_id: row.from_account, display_name: row.from_name, email: row.from_email },
  to: { user_id: row.to_account, display_name: row.to_name, email: row.to_email },
  state: stateOf(row, at),
  expires_at: timeAt(row.expires_at),
  created_at: timeAt(row.created_at),
})

/** Undecided, or approved by somebody who waits to be taken in: it keeps a place. */
export const isStanding = (of: ExpressionBuilder<Schema, 'invitations'>, at: number) =>
  of.or([
    of.and([of('state', '=', 'pending'), of('expires_at', '>', at)]),
    of('consent', '=', of.lit(1)),
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
    invited.map(({ to_account: user_id, to_email, display_name }) => [
      user_id ?? to_email,
      { user_id, display_name: display_name ?? to_email ?? '' },
    ]),
  )
  return [...each.values()].map((one) => ({ ...one, role: 'member', state: 'invited' }))
}

/** Whoever is in a connection no longer, or no longer as an owner, takes nobody in: what they asked is asked no more. */
export async function withdrawAllOf(
  trx: Transaction<Schema>,
  { connection, account }: { connection: string; account: string },
  at: number,
): Promise<void> {
  await trx
    .updateTable('invitations')
    .set({ state: 'withdrawn', consent: 0 })
    .where('connection_id', '=', connection)
    .where('from_account', '=', account)
    .where((of) => isStanding(of, at))
    .execute()
}
