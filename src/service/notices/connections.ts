import type { Transaction } from 'kysely'
import { accountAt, displayName, quotedName } from '../accounts/account-record.ts'
import { roleIn } from '../connections/connection-rows.ts'
import type { Schema } from '../db/schema.ts'
import type { Receiver, Subscriber } from '../events.ts'
import { forgetNotes, type Note, notify, notifyAll } from '../mail/notices.ts'
import { plainName } from '../mail/quoting.ts'

/**
 * Notifies the invited account, if there is one. If an account for the mailbox is created later, it
 * finds the invitation after signing in.
 */
export const noticeOfInvitation: Subscriber<'invitation.sent'> = async ({ trx }, event) => {
  const { invitation: id, by, target, at } = event
  const account = target.account ?? (await accountAt(trx, target.email!))
  if (account === null) return
  // An invitation to a member's mailbox is hidden from that member.
  if ((await roleIn(trx, by.connection, account)) !== null) return
  const name = await quotedName(trx, by.account)
  const note: Note = {
    kind: 'invitation_received',
    title: `${name} invites you to a connection`,
    body:
      `A person who uses the name ${name} invites you to the connection ${plainName(by.name)}. ` +
      'Ask them, in a way that you trust, whether they sent it. Then approve or decline it.',
    data: { invitation_id: id, connection_id: by.connection },
  }
  await notify(trx, account, note, at)
}

/**
 * Notifies the inviter of an answer, and deletes the invited account's notification. If a mailbox
 * was invited and declines, the inviter does not learn which account it belongs to.
 */
export const noticeOfAnswer: Subscriber<'invitation.answered'> = async ({ trx }, event) => {
  const { answer, invitation, from, to, at } = event
  const who = to.name === null ? (to.email ?? '') : plainName(to.name)
  const connection = plainName(event.connectionName)
  const data = { invitation_id: invitation, connection_id: event.connection }
  const note: Note =
    answer === 'approved'
      ? {
          kind: 'invitation_approved',
          title: `${who} approved your invitation`,
          body: `${who} approved your invitation to ${connection}. Your device adds them within seconds if it is connected, or else at its next sync.`,
          data: { ...data, ...(to.account === null ? {} : { user_id: to.account }) },
        }
      : {
          kind: 'invitation_declined',
          title: `${who} declined your invitation`,
          body: `${who} declined your invitation to ${connection}.`,
          data,
        }
  await notify(trx, from, note, at)
  await forgetNotes(trx, event.by, ['invitation_received'], { invitation_id: invitation })
}

/**
 * Notifies the other members that a member joined or left.
 * @param of `member`: the account that joined or left; `by`: the account that signed the change
 */
async function notifyMembers(
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
  const noteFor = (name: string): Pick<Note, 'kind' | 'title' | 'body'> => {
    const connectionName = plainName(name)
    if (op === 'joined')
      return {
        kind: 'member_joined',
        title: `${who} joined a connection`,
        body: `${actor} added ${who} to the connection ${connectionName}.`,
      }
    return {
      kind: 'member_left',
      title: `${who} left a connection`,
      body:
        op === 'left'
          ? `${who} left the connection ${connectionName}.`
          : `${actor} removed ${who} from the connection ${connectionName}.`,
    }
  }
  const data = { connection_id: connection, user_id: member }
  const notes = others.map(({ account_id, name }): [string, Note] => [
    account_id,
    { ...noteFor(name), data },
  ])
  await notifyAll(trx, new Map(notes), at)
}

/** Notifies the other members that an owner ended the connection for all. */
async function notifyOfEnd(
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
      body: `${who} ended the connection ${plainName(name)} for all members. Its words no longer prove anything. Delete it from your list.`,
      data: { connection_id: connection, user_id: by },
    },
  ])
  await notifyAll(trx, new Map(notes), at)
}

/** The ops of roster entries that change the members. */
const MOVES = new Map([
  ['add', 'joined'],
  ['remove', 'removed'],
  ['leave', 'left'],
]) as ReadonlyMap<string, 'joined' | 'removed' | 'left'>

/** Notifies members of a roster entry. Most kinds of entries cause no notification. */
export const noticesOfEntry: Subscriber<'roster.appended'> = async ({ trx }, event) => {
  const { connection, actor: by, name, at } = event
  if (event.op === 'end') return notifyOfEnd(trx, { connection, by }, at)
  const op = MOVES.get(event.op)
  if (op === undefined) return
  const member = op === 'left' ? by : event.member!
  await notifyMembers(trx, { connection, op, member, by }, at)
  if (op === 'removed' && name !== null)
    await notifyRemoved(trx, { connection, member, by, name }, at)
}

/** Notifies the other members that a member's account was deleted. */
export const noticesOfDeletion: Subscriber<'member.deleted'> = ({ trx }, event) => {
  const { connection, account, at } = event
  return notifyMembers(trx, { connection, op: 'left', member: account, by: account }, at)
}

/** Notifies the removed member. `name`: that member's name for the connection. */
async function notifyRemoved(
  trx: Transaction<Schema>,
  of: { connection: string; member: string; by: string; name: string },
  at: number,
): Promise<void> {
  const { connection, member, by, name } = of
  const actor = await quotedName(trx, by)
  const note: Note = {
    kind: 'removed_from_connection',
    title: 'You were removed from a connection',
    body: `${actor} removed you from the connection ${plainName(name)}. You can no longer use its words.`,
    data: { connection_id: connection, user_id: by },
  }
  await notify(trx, member, note, at)
}

/**
 * An invitation that ended. The account's notification of it is deleted, and replaced by `note` if
 * that is not null.
 */
interface EndNotice {
  readonly account: string
  readonly invitation: string
  readonly note: Note | null
}

/**
 * Returns the notice for a receiver of an invitation that ended. Its `note` is null if the
 * invitation was not in the receiver's list.
 */
const noticeTo = (
  { account, invitation, connection, connectionName, from, isListed }: Receiver,
  note: (from: string, connection: string) => Pick<Note, 'kind' | 'title' | 'body'>,
): EndNotice => ({
  account,
  invitation,
  note: isListed
    ? {
        ...note(plainName(from), plainName(connectionName)),
        data: { invitation_id: invitation, connection_id: connection },
      }
    : null,
})

async function notifyEnds(
  trx: Transaction<Schema>,
  ends: readonly EndNotice[],
  at: number,
): Promise<void> {
  // In the order of account ids, as in `notifyAll`, to avoid deadlocks.
  for (const { account, invitation } of ends.toSorted((a, b) => (a.account < b.account ? -1 : 1)))
    await forgetNotes(trx, account, ['invitation_received'], { invitation_id: invitation })
  const notes = ends.flatMap(({ account, note }) =>
    note === null ? [] : [[account, note] as const],
  )
  await notifyAll(trx, notes, at)
}

/** Replaces the notifications of withdrawn invitations. */
export const noticesOfWithdrawal: Subscriber<'invitation.withdrawn'> = (
  { trx },
  { receivers, at },
) =>
  notifyEnds(
    trx,
    receivers.map((receiver) =>
      noticeTo(receiver, (from, connection) => ({
        kind: 'invitation_withdrawn',
        title: `${from} withdrew an invitation`,
        body: `The invitation of ${from} to the connection ${connection} was withdrawn. No answer is needed.`,
      })),
    ),
    at,
  )

/** Notifies both sides of an invitation that has expired. */
export const noticesOfExpiry: Subscriber<'invitation.expired'> = async ({ trx }, event) => {
  const { invitation, from, to, receivers, at } = event
  const who = to.account === null ? to.email! : plainName(await displayName(trx, to.account))
  const connection = plainName(event.connectionName)
  const note: Note = {
    kind: 'invitation_expired',
    title: `Your invitation of ${who} has expired`,
    body: event.isApproved
      ? `${who} approved your invitation to ${connection}, but no device of yours added them within a day of its end. Invite them again.`
      : `${who} did not answer your invitation to ${connection} in time. Invite them again if you still want to.`,
    data: { invitation_id: invitation, connection_id: event.connection },
  }
  const invited = receivers.map((receiver) =>
    noticeTo(receiver, (inviter, connectionName) => ({
      kind: 'invitation_expired',
      title: `An invitation of ${inviter} has expired`,
      body: `The invitation of ${inviter} to the connection ${connectionName} has expired. To be in it, ask for another one.`,
    })),
  )
  await notifyEnds(trx, [{ account: from, invitation, note }, ...invited], at)
}
