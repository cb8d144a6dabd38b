/**
 * Appends entries to rosters. One transaction stores a valid entry, its envelopes and all its
 * effects. The transaction locks the connection. So if two entries are sent concurrently, the
 * second is rejected.
 */
import type { Transaction } from 'kysely'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { JsonObject } from '../../crypto/encoding/json.ts'
import { entryHash, parseJws } from '../../crypto/jose/jws.ts'
import { signerAt } from '../../crypto/logs/key-log-ops.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { type KeyLogs, type Roster, accountsInRoster } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import {
  CONNECTION_PREFIX,
  requireMember,
  lockConnection,
  touchConnection,
} from './connection-rows.ts'
import { deleteAbandoned, noteNamed } from './deleted-members.ts'
import { requireApproved, holdApproved } from '../accounts/device-rows.ts'
import { type Addressed, addressed, outdated, type Sender, storeEnvelopes } from './envelopes.ts'
import { requireId, verified, verifiedLater } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { type Ended, receiversOf } from './invitation-ends.ts'
import { markInvitationsNamed } from '../accounts/invitation-marks.ts'
import {
  endUnseenOf,
  invitedIn,
  occupiesPlace,
  isWaiting,
  occupyingInvitations,
  withdrawAllOf,
} from './invitation-rows.ts'
import { carryOver } from './replacements.ts'
import {
  countEntry,
  keyLogsOf,
  opensEpoch,
  requireShort,
  rosterEntries,
  withoutDeletedMembers,
} from './roster-rows.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'
import { storedRoster } from '../accounts/stored-logs.ts'

const placeOf = (entries: readonly string[], seq: number) => ({
  seq,
  head: encodeBase64url(entryHash(entries[seq]!)),
})

/**
 * Checks that the sender signed this roster entry, and is still active in the newest key log. The
 * second check is needed because the entry may name a position in the key log from before the
 * device was revoked.
 * @throws Refusal
 */
export function requireSignedBy(
  entry: JsonObject,
  { account, device }: Sender,
  keyLogs: KeyLogs,
): void {
  const own = entry.get('actor') === account && entry.get('device') === device
  requireThat(own, 'unknown_signer', 'the entry is signed by another device')
  const log = keyLogs.get(account)
  requireThat(log !== undefined, 'unknown_signer', 'the account has no key log')
  signerAt(log, device, log.seq)
}

/**
 * Checks that the device that opens an epoch also sent an envelope for itself.
 * @throws AppError `validation_failed`
 */
export function requireSealed(sender: Sender, envelopes: readonly Addressed[]): void {
  if (envelopes.some(({ recipient }) => recipient === sender.device)) return
  const message =
    'Give an envelope for the device that opens the epoch, and for every other device.'
  throw invalid('body', [{ path: 'envelopes', message }])
}

/**
 * Returns the approved invitation that allows an account to be added.
 * @throws AppError `invalid_state` if there is none
 */
async function consentOf(
  trx: Transaction<Schema>,
  { connection, account }: { connection: string; account: string },
  at: number,
) {
  const row = await trx
    .selectFrom('invitations')
    .innerJoin('accounts', 'accounts.id', 'from_account')
    .select(['connection_name', 'display_name'])
    .where('connection_id', '=', connection)
    .where('to_account', '=', account)
    .where((of) => isWaiting(of, at))
    .orderBy('invitations.id', 'desc')
    .executeTakeFirst()
  if (row === undefined)
    throw new AppError(
      'invalid_state',
      'This account has not approved an invitation to the connection. Invite the account, and wait for its answer.',
      { details: { state: 'not_approved' } },
    )
  return row
}

/**
 * Makes the account a member. If the connection replaces another one, the account's name for it is
 * copied from there. Otherwise the name is the inviter's display name, or the inviter's name for
 * the connection if more than two people are members or invited.
 */
async function joinConnection(
  trx: Transaction<Schema>,
  roster: Roster,
  account: string,
  at: number,
) {
  const { connection, members } = roster
  const { connection_name, display_name } = await consentOf(trx, { connection, account }, at)
  const used = await trx
    .updateTable('invitations')
    .set({ state: 'approved', consent: 2 })
    .where('connection_id', '=', connection)
    .where('to_account', '=', account)
    .where((of) => occupiesPlace(of, at))
    .returning('id')
    .execute()
  await markInvitationsNamed(trx, used)
  await noteNamed(trx, connection, account)
  const invited = invitedIn(await occupyingInvitations(trx, [connection], at).execute())
  const { role } = members.find((one) => one.account === account)!
  await trx
    .insertInto('memberships')
    .values({
      account_id: account,
      connection_id: connection,
      role,
      name: members.length + invited.length > 2 ? connection_name : display_name,
      favorite: 0,
      updated_at: at,
    })
    .execute()
  await carryOver(trx, roster, account)
}

/**
 * Ends an account's membership. To join again, the account must approve another invitation.
 * @returns null if the account was deleted before
 */
async function removeMember(
  trx: Transaction<Schema>,
  { connection, account }: { connection: string; account: string },
  at: number,
): Promise<Left | null> {
  const row = await trx
    .deleteFrom('memberships')
    .where('connection_id', '=', connection)
    .where('account_id', '=', account)
    .returning('name')
    .executeTakeFirst()
  // The account was deleted. The other members were notified at that time.
  if (row === undefined) return null
  markChanged(trx, ['connections', 'duties', 'invitations'], { accounts: [account] })
  const withdrawn = await withdrawAllOf(trx, { connection, account }, at)
  await endUnseenOf(trx, { connection, account })
  await trx
    .updateTable('invitations')
    .set({ consent: 0, consent_jws: null })
    .where('connection_id', '=', connection)
    .where('to_account', '=', account)
    .execute()
  return { withdrawn, name: row.name }
}

/**
 * Ends the connection. It stays in the other members' lists, as ended, until they delete it. From
 * now on no account can be added, and no device can fetch the secret.
 * @returns the invitations that it withdrew
 */
async function endFor(trx: Transaction<Schema>, connection: string, at: number) {
  await trx.updateTable('connections').set({ ended_at: at }).where('id', '=', connection).execute()
  const withdrawn = await withdrawAllOf(trx, { connection, account: null }, at)
  await trx.deleteFrom('envelopes').where('connection_id', '=', connection).execute()
  return withdrawn
}

/** The ops after which a connection may have no members left. */
const ENDS_MEMBERSHIP: ReadonlySet<unknown> = new Set(['remove', 'leave', 'end'])

/** The effects of an entry that must be reported to others. */
interface Left {
  readonly withdrawn: readonly Ended[]
  /**
   * The former member's name for the connection; null unless the entry is a `remove` or `leave`.
   */
  readonly name: string | null
}

const NOTHING: Left = { withdrawn: [], name: null }

/**
 * Applies an entry to the members of a connection and their roles.
 * @returns null if the other members need no notification
 */
async function apply(
  trx: Transaction<Schema>,
  roster: Roster,
  { payload, at }: { payload: JsonObject; at: number },
): Promise<Left | null> {
  const { connection } = roster
  const text = (name: string) => {
    const value = payload.get(name)
    return typeof value === 'string' ? value : ''
  }
  const [op, actor, member, role] = [text('op'), text('actor'), text('member'), text('role')]
  if (op === 'add') await joinConnection(trx, roster, member, at)
  if (op === 'remove') return removeMember(trx, { connection, account: member }, at)
  if (op === 'leave') return removeMember(trx, { connection, account: actor }, at)
  if (op === 'end') {
    const withdrawn = await endFor(trx, connection, at)
    await removeMember(trx, { connection, account: actor }, at)
    return { ...NOTHING, withdrawn }
  }
  if (op === 'role') {
    await trx
      .updateTable('memberships')
      .set({ role: role as 'owner' | 'member' })
      .where('connection_id', '=', connection)
      .where('account_id', '=', member)
      .execute()
    if (role === 'member')
      return {
        ...NOTHING,
        withdrawn: await withdrawAllOf(trx, { connection, account: member }, at),
      }
  }
  return NOTHING
}

async function store(
  trx: Transaction<Schema>,
  { events }: Pick<ServiceContext, 'events'>,
  roster: Roster,
  of: {
    payload: JsonObject
    sender: Sender
    envelopes: readonly Addressed[]
    at: number
  },
): Promise<void> {
  const { payload, sender, envelopes, at } = of
  const { connection, seq, epoch, entries } = roster
  const entry = entries[seq]!
  await trx.insertInto('roster_entries').values({ connection_id: connection, seq, entry }).execute()
  // Memberships are locked before envelopes are deleted, as when a key log grows. Another order
  // could deadlock.
  await touchConnection(trx, connection, at)
  const left = await apply(trx, roster, of)
  if (opensEpoch(payload)) {
    await trx.updateTable('connections').set({ epoch }).where('id', '=', connection).execute()
    await trx.deleteFrom('envelopes').where('connection_id', '=', connection).execute()
  }
  await storeEnvelopes(trx, { roster, sender: sender.device }, envelopes)
  if (left === null) return
  const member = payload.get('member')
  await events.publish(trx, {
    type: 'roster.appended',
    connection,
    op: payload.get('op') as string,
    actor: payload.get('actor') as string,
    member: typeof member === 'string' ? member : null,
    name: left.name,
    at,
  })
  if (left.withdrawn.length > 0) {
    await markInvitationsNamed(trx, left.withdrawn)
    const receivers = await receiversOf(trx, left.withdrawn)
    await events.publish(trx, { type: 'invitation.withdrawn', receivers, at })
  }
  if (ENDS_MEMBERSHIP.has(payload.get('op')))
    await deleteAbandoned(trx, (of) => of('id', '=', connection))
}

/** Appends an entry to a roster. */
export const appendRosterEntry =
  ({ db, events, now }: ServiceContext): Service['rosters']['append'] =>
  async ({ connection, body: { entry, envelopes } }, session) => {
    requireId(CONNECTION_PREFIX, connection, 'connection')
    const { account } = session
    const sender = { account, device: await requireApproved(db, session) }
    const { payload } = verified('entry', () => {
      const parsed = parseJws(entry, 'roster+jws')
      requireShort(entry, parsed.payload)
      return parsed
    })
    return events.transaction(async (trx) => {
      await holdApproved(trx, session)
      // The account is locked before the connection, as when key logs grow. Another order could
      // deadlock.
      await countEntry(trx, { account, connection, op: payload.get('op') }, now())
      await lockConnection(trx, connection)
      const entries = await rosterEntries(trx, connection)
      // A device that lost the response sends the entry again. It may no longer be a member, if it
      // left by that entry.
      const seen = entries.indexOf(entry)
      if (seen >= 0 && payload.get('actor') === account) return placeOf(entries, seen)
      await requireMember(trx, account, connection)
      const head = entryHash(entries.at(-1)!)
      if (payload.get('prev') !== encodeBase64url(head))
        throw outdated('Another entry came first', head)
      const accounts = verified('entry', () => accountsInRoster([...entries, entry]))
      const keyLogs = await keyLogsOf(trx, connection, accounts)
      const after = await verifiedLater('entry', async () => {
        const roster = await storedRoster(connection, { entries, keyLogs }, [entry])
        requireSignedBy(payload, sender, keyLogs)
        return roster
      })
      const there = await withoutDeletedMembers(trx, after)
      const sealed = verified('envelopes', () =>
        addressed(envelopes, { sender, roster: there, keyLogs, newest: head }),
      )
      if (opensEpoch(payload)) requireSealed(sender, sealed)
      await store(trx, { events }, after, { payload, sender, envelopes: sealed, at: now() })
      return placeOf(after.entries, after.seq)
    })
  }
