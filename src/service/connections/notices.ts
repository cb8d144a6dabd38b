/**
 * The notifications of events of connections, and the accounts that receive them. Each function is called
 * at the end of the transaction of its event. A notification reveals only what the lists of its
 * account show.
 */
import type { Transaction } from 'kysely'
import type { JsonObject } from '../../crypto/encoding/json.ts'
import { accountAt, quotedName } from '../accounts/account-record.ts'
import { roleIn } from './connection-rows.ts'
import type { Inviter, Named, Target } from './invitation-rows.ts'
import { type Note, forgetNotes, notify, notifyAll } from '../mail/notices.ts'
import { named } from '../mail/quoting.ts'
import type { Schema } from '../db/schema.ts'

/**
 * Notifies the invited account, if there is one: an account made later for the mailbox finds the
 * invitation on signing in.
 * @param id of the invitation
 */
export async function tellInvited(
  trx: Transaction<Schema>,
  by: Inviter,
  { id, target }: { id: string; target: Target },
  at: number,
): Promise<void> {
  const account = target.account ?? (await accountAt(trx, target.email!))
  if (account === null) return
  // One for a mailbox of a member is hidden from that member.
  if ((await roleIn(trx, by.connection, account)) !== null) return
  const name = await quotedName(trx, by.account)
  const note: Note = {
    kind: 'invitation_received',
    title: `${name} invites you to a connection`,
    body:
      `Somebody who calls themselves ${name} invites you to a connection that they call ${named(by.name)}. ` +
      'Ask them whether it was they, by a way that you know; then approve or decline it.',
    data: { invitation_id: id, connection_id: by.connection },
  }
  await notify(trx, account, note, at)
}

/** Whoever invited is told of the answer; of a mailbox no more than that it declined. */
export async function tellInviter(
  trx: Transaction<Schema>,
  row: Named,
  answer: 'approved' | 'declined',
  at: number,
): Promise<void> {
  const who = row.to_name === null ? (row.to_email ?? '') : named(row.to_name)
  const connection = named(row.connection_name)
  const data = { invitation_id: row.id, connection_id: row.connection_id }
  const note: Note =
    answer === 'approved'
      ? {
          kind: 'invitation_approved',
          title: `${who} approved your invitation`,
          body: `${who} approved your invitation to ${connection}. Your device takes them in at its next sync.`,
          data: { ...data, ...(row.to_account === null ? {} : { user_id: row.to_account }) },
        }
      : {
          kind: 'invitation_declined',
          title: `${who} declined your invitation`,
          body: `${who} declined your invitation to ${connection}.`,
          data,
        }
  await notify(trx, row.from_account, note, at)
}

/**
 * The other members are told who came or went.
 * @param of `member`: who that is; `by`: who signed it
 */
export async function tellMembers(
  trx: Transaction<Schema>,
  of: {
    connection: string
    op: 'joined' | 'left' | 'removed'
    member: string
    by: string
  },
  at: number,
): Promise<void> {
  const { connection, op, member, by } = of
  if (op === 'joined')
    await forgetNotes(trx, member, ['invitation_received', 'removed_from_connection'], {
      connection_id: connection,
    })
  const others = await trx
    .selectFrom('memberships')
    .select(['account_id', 'name'])
    .where('connection_id', '=', connection)
    .where('account_id', 'not in', [member, by])
    .execute()
  if (others.length === 0) return
  const who = await quotedName(trx, member)
  const actor = by === member ? '' : await quotedName(trx, by)
  const told = (name: string): Pick<Note, 'kind' | 'title' | 'body'> => {
    const connectionName = named(name)
    if (op === 'joined')
      return {
        kind: 'member_joined',
        title: `${who} joined a connection`,
        body: `${who} is in the connection ${connectionName} now: ${actor} took them in.`,
      }
    return {
      kind: 'member_left',
      title: `${who} left a connection`,
      body:
        op === 'left'
          ? `${who} left the connection ${connectionName}.`
          : `${who} is in the connection ${connectionName} no more: ${actor} removed them.`,
    }
  }
  const data = { connection_id: connection, user_id: member }
  const notes = others.map(({ account_id, name }): [string, Note] => [
    account_id,
    { ...told(name), data },
  ])
  await notifyAll(trx, new Map(notes), at)
}

/** Notifies the other members that an owner ended the connection for all. */
async function tellOfEnd(
  trx: Transaction<Schema>,
  { connection, by }: { connection: string; by: string },
  at: number,
): Promise<void> {
  const members = await trx
    .selectFrom('memberships')
    .select(['account_id', 'name'])
    .where('connection_id', '=', connection)
    .where('account_id', '!=', by)
    .execute()
  const who = await quotedName(trx, by)
  const notes = members.map(({ account_id, name }): [string, Note] => [
    account_id,
    {
      kind: 'connection_ended',
      title: `${who} ended a connection`,
      body: `${who} ended the connection ${named(name)} for everybody: its words prove nothing any more. Delete it from your list.`,
      data: { connection_id: connection, user_id: by },
    },
  ])
  await notifyAll(trx, new Map(notes), at)
}

/** What entries of a roster say of who came or went, by their op. */
const MOVES = new Map([
  ['add', 'joined'],
  ['remove', 'removed'],
  ['leave', 'left'],
] as const)

/**
 * Notifies members of a verified roster entry. Most kinds of entry cause no notification.
 * @param of `name`: the removed member's name for the connection
 */
export async function tellOfEntry(
  trx: Transaction<Schema>,
  { connection, said, name }: { connection: string; said: JsonObject; name: string | null },
  at: number,
): Promise<void> {
  const by = said.get('actor') as string
  if (said.get('op') === 'end') return tellOfEnd(trx, { connection, by }, at)
  const op = MOVES.get(said.get('op') as 'add')
  if (op === undefined) return
  const member = op === 'left' ? by : (said.get('member') as string)
  await tellMembers(trx, { connection, op, member, by }, at)
  if (op === 'removed' && name !== null)
    await tellRemoved(trx, { connection, member, by, name }, at)
}

/** Notifies the removed member. `name`: that member's name for the connection. */
async function tellRemoved(
  trx: Transaction<Schema>,
  of: { connection: string; member: string; by: string; name: string },
  at: number,
): Promise<void> {
  const { connection, member, by, name } = of
  const actor = await quotedName(trx, by)
  const note: Note = {
    kind: 'removed_from_connection',
    title: 'You were removed from a connection',
    body: `${actor} removed you from the connection ${named(name)}. Its words are not yours to say any more.`,
    data: { connection_id: connection, user_id: by },
  }
  await notify(trx, member, note, at)
}
