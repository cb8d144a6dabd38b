/**
 * The notifications of each event, and the accounts that receive them. Each function is called at
 * the end of the transaction of its event. A notification reveals only what the lists of its
 * account show.
 */
import type { Kysely, Transaction } from 'kysely'
import type { JsonObject } from '../../crypto/encoding/json.ts'
import { accountAt, displayName } from '../accounts/account-record.ts'
import { roleIn } from '../connections/connection-rows.ts'
import { deviceName } from '../devices/device-rows.ts'
import type { Inviter, Target } from '../connections/invitation-rows.ts'
import type { Named } from '../connections/invitation-rows.ts'
import { named } from './quoting.ts'
import { type Note, forgetNotes, notify, notifyAll } from './notices.ts'
import type { Schema } from '../db/schema.ts'

const nameOf = async (db: Kysely<Schema>, account: string): Promise<string> =>
  named(await displayName(db, account))

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
  const name = await nameOf(trx, by.account)
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
  const who = await nameOf(trx, member)
  const actor = by === member ? '' : await nameOf(trx, by)
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
  const who = await nameOf(trx, by)
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
  const actor = await nameOf(trx, by)
  const note: Note = {
    kind: 'removed_from_connection',
    title: 'You were removed from a connection',
    body: `${actor} removed you from the connection ${named(name)}. Its words are not yours to say any more.`,
    data: { connection_id: connection, user_id: by },
  }
  await notify(trx, member, note, at)
}

/**
 * Notifies an account whose devices were all replaced, and all accounts that rely on its keys.
 */
export async function tellOfReset(
  trx: Transaction<Schema>,
  of: { account: string; device: string; deviceName: string; withKey: boolean },
  at: number,
): Promise<void> {
  const { account, device, deviceName, withKey } = of
  const followers = await trx
    .selectFrom('trust_cards')
    .select('account_id')
    .where('watched_id', '=', account)
    .execute()
  const members = await trx
    .selectFrom('memberships')
    .innerJoin('memberships as own', 'own.connection_id', 'memberships.connection_id')
    .select('memberships.account_id')
    .distinct()
    .where('own.account_id', '=', account)
    .where('memberships.account_id', '!=', account)
    .execute()
  const name = await nameOf(trx, account)
  const changed: Note = {
    kind: 'keys_changed',
    title: `The keys of ${name} changed`,
    body: withKey
      ? `All devices of ${name} were replaced by a new one, with the words of a recovery key. Your device checks whether that key belongs to the keys that you know, and the trust card shows the result: if it does, there is nothing to do.`
      : `All devices of ${name} were replaced by a new one. Ask them by a way that you know whether it was they, and compare the safety number before you rely on the new keys.`,
    data: { user_id: account },
  }
  const reset: Note = {
    kind: 'account_reset',
    title: 'All devices of your account were replaced',
    body: `All devices of your account were replaced by ${named(deviceName)}, ${withKey ? 'with' : 'without'} a recovery key. If that was not you, a thief may read your mail: make your mailbox safe, then reset the account yourself.`,
    data: { device_id: device },
  }
  const notes = [...followers, ...members].map(({ account_id }): [string, Note] => [
    account_id,
    changed,
  ])
  await notifyAll(trx, new Map([...notes, [account, reset]]), at)
}

/** The account is told of a device that its key log names since, or names as revoked. */
export async function tellOfDevice(
  trx: Transaction<Schema>,
  of: { account: string; device: string; op: 'added' | 'revoked' },
  at: number,
): Promise<void> {
  const { account, device, op } = of
  const name = named(await deviceName(trx, device))
  const data = { device_id: device }
  const note: Note =
    op === 'added'
      ? {
          kind: 'device_added',
          title: `A new device: ${name}`,
          body: `${name} was added to your account; another device of yours approved it. If that was not you, revoke it at once.`,
          data,
        }
      : {
          kind: 'device_revoked',
          title: `A device was revoked: ${name}`,
          body: `${name} was revoked, or signed out: it is no device of your account any more.`,
          data,
        }
  await notify(trx, account, note, at)
}

/** Notifies the account that a device put a recovery key in force. */
export async function tellOfRecoveryKey(
  trx: Transaction<Schema>,
  { account, device, name }: { account: string; device: string; name: string },
  at: number,
): Promise<void> {
  const note: Note = {
    kind: 'recovery_key_changed',
    title: `A new recovery key, by ${named(name)}`,
    body: `${named(name)} made a recovery key for your account: a person with its words and your mailbox can replace all your devices, and your contacts accept that. If that was not you, reset the account without it, since revoking the device leaves the key in force. Then compare the safety number with each contact: until they confirm your new keys, they accept a reset with those words.`,
    data: { device_id: device },
  }
  await notify(trx, account, note, at)
}

/** The owner of a guest code is told that its page was opened, the first time. */
export const tellOfOpening = (
  trx: Transaction<Schema>,
  of: { account: string; guest: string; label: string },
  at: number,
): Promise<void> =>
  notify(
    trx,
    of.account,
    {
      kind: 'guest_code_opened',
      title: 'The page of a guest code was opened',
      body: `The page of the guest code ${named(of.label)} was opened for the first time. If your guest cannot have been that, revoke it.`,
      data: { guest_code_id: of.guest },
    },
    at,
  )
