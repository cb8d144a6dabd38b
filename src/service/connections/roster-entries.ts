/**
 * How rosters grow: by one valid entry at a time, with the envelopes of those who shall have the secret, and with all that follows from
 * it in one transaction. The connection is held meanwhile, so that of two entries at the same moment one is second, and told so.
 */
import type { Transaction } from 'kysely'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { JsonObject } from '../../crypto/encoding/json.ts'
import { hashOf, parseJws } from '../../crypto/jose/jws.ts'
import { signerAt } from '../../crypto/logs/key-log.ts'
import { demand } from '../../crypto/refusal.ts'
import { type KeyLogs, type Roster, accountsOf } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import { PREFIX, demandMember, holdConnection, touchConnection } from './connection-rows.ts'
import { deleteAbandoned, noteNamed } from './deleted-members.ts'
import { demandApproved, holdApproved } from '../accounts/device-rows.ts'
import { type Addressed, type Sender, addressed, moved, storeEnvelopes } from './envelope-rows.ts'
import { demandId, judged, judgedLater } from '../db/faults.ts'
import type { Ground } from '../context.ts'
import { type Ended, receiversOf } from './invitation-ends.ts'
import {
  endUnseenOf,
  invitedIn,
  isStanding,
  isWaiting,
  standing,
  withdrawAllOf,
} from './invitation-rows.ts'
import { carryOver } from './replacements.ts'
import { countEntry, demandShort, opensEpoch } from './roster-limits.ts'
import { keyLogsOf, present, rosterEntries } from './roster-rows.ts'
import type { Schema } from '../db/schema.ts'
import { storedRoster } from '../accounts/stored-logs.ts'

const placeOf = (entries: readonly string[], seq: number) => ({
  seq,
  head: encodeBase64url(hashOf(entries[seq]!)),
})

/**
 * Throws Refusal unless the newest entry of a verified roster was made by this device, which is active: what an entry says of its key
 * log may be older than its revocation.
 */
export function demandSignedBy(
  entry: JsonObject,
  { account, device }: Sender,
  keyLogs: KeyLogs,
): void {
  const own = entry.get('actor') === account && entry.get('device') === device
  demand(own, 'unknown_signer', 'signed by another device')
  const log = keyLogs.get(account)
  demand(log !== undefined, 'unknown_signer', 'the account has no key log')
  signerAt(log, device, log.seq)
}

/** Throws AppError `validation_failed` for an epoch whose secret its own maker would not have. */
export function demandSealed(sender: Sender, envelopes: readonly Addressed[]): void {
  if (envelopes.some(({ recipient }) => recipient === sender.device)) return
  const message = 'Give an envelope for the device that opens the epoch, and for every other one.'
  throw invalid('body', [{ path: 'envelopes', message }])
}

/** The invitation by which an account may be taken in. Throws AppError `invalid_state` where there is none. */
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
      'This account has not approved an invitation to the connection: invite it, and wait for its answer.',
      { details: { state: 'not_approved' } },
    )
  return row
}

/**
 * The account is a member from now on. What it calls the connection: as the one that this replaces,
 * else the inviter, or as that one does where there are others.
 */
async function takeIn(trx: Transaction<Schema>, roster: Roster, account: string, at: number) {
  const { connection, members } = roster
  const { connection_name, display_name } = await consentOf(trx, { connection, account }, at)
  await trx
    .updateTable('invitations')
    .set({ state: 'approved', consent: 2 })
    .where('connection_id', '=', connection)
    .where('to_account', '=', account)
    .where((of) => isStanding(of, at))
    .execute()
  await noteNamed(trx, connection, account)
  const invited = invitedIn(await standing(trx, [connection], at).execute())
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

/** The account is a member no more, and comes back by another approval. */
async function letGo(
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
  // The account was deleted, and everything of it with that: whoever stays was told then.
  if (row === undefined) return null
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
 * The connection is over. Its other members keep it in their lists, as ended, until they delete it;
 * nobody is taken in any more, and no device fetches its secret.
 * @returns the invitations that it withdrew
 */
async function endFor(trx: Transaction<Schema>, connection: string, at: number) {
  await trx.updateTable('connections').set({ ended_at: at }).where('id', '=', connection).execute()
  const withdrawn = await withdrawAllOf(trx, { connection, account: null }, at)
  await trx.deleteFrom('envelopes').where('connection_id', '=', connection).execute()
  return withdrawn
}

/** The ops by which the last member of a connection can go. */
const ENDS_MEMBERSHIP: ReadonlySet<unknown> = new Set(['remove', 'leave', 'end'])

/** What an entry did beside changing the members. */
interface Left {
  readonly withdrawn: readonly Ended[]
  /** The name that a member who left gave the connection. */
  readonly name: string | null
}

const NOTHING: Left = { withdrawn: [], name: null }

/**
 * What follows from an entry for who is in the connection, and as what.
 * @returns null where it is no news to the others
 */
async function apply(
  trx: Transaction<Schema>,
  roster: Roster,
  { said, at }: { said: JsonObject; at: number },
): Promise<Left | null> {
  const { connection } = roster
  const text = (name: string) => {
    const value = said.get(name)
    return typeof value === 'string' ? value : ''
  }
  const [op, actor, member, role] = [text('op'), text('actor'), text('member'), text('role')]
  if (op === 'add') await takeIn(trx, roster, member, at)
  if (op === 'remove') return letGo(trx, { connection, account: member }, at)
  if (op === 'leave') return letGo(trx, { connection, account: actor }, at)
  if (op === 'end') {
    const withdrawn = await endFor(trx, connection, at)
    await letGo(trx, { connection, account: actor }, at)
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
  { events }: Pick<Ground, 'events'>,
  roster: Roster,
  of: {
    said: JsonObject
    sender: Sender
    envelopes: readonly Addressed[]
    at: number
  },
): Promise<void> {
  const { said, sender, envelopes, at } = of
  const { connection, seq, epoch, entries } = roster
  const entry = entries[seq]!
  await trx.insertInto('roster_entries').values({ connection_id: connection, seq, entry }).execute()
  // Before envelopes go, as when a key log grows: in another order the two would wait for each other.
  await touchConnection(trx, connection, at)
  const left = await apply(trx, roster, of)
  if (opensEpoch(said)) {
    await trx.updateTable('connections').set({ epoch }).where('id', '=', connection).execute()
    await trx.deleteFrom('envelopes').where('connection_id', '=', connection).execute()
  }
  await storeEnvelopes(trx, { roster, sender: sender.device }, envelopes)
  if (left === null) return
  const member = said.get('member')
  await events.publish(trx, {
    type: 'roster.appended',
    connection,
    op: said.get('op') as string,
    actor: said.get('actor') as string,
    member: typeof member === 'string' ? member : null,
    name: left.name,
    at,
  })
  if (left.withdrawn.length > 0) {
    const receivers = await receiversOf(trx, left.withdrawn)
    await events.publish(trx, { type: 'invitation.withdrawn', receivers, at })
  }
  if (ENDS_MEMBERSHIP.has(said.get('op')))
    await deleteAbandoned(trx).where('id', '=', connection).execute()
}

/** Add an entry to a roster. */
export const appendTo =
  ({ db, events, now }: Ground): Service['rosters']['append'] =>
  async ({ connection, body: { entry, envelopes } }, session) => {
    demandId(PREFIX, connection, 'connection')
    const { account } = session
    const sender = { account, device: await demandApproved(db, session) }
    const { payload: said } = judged('entry', () => {
      const parsed = parseJws(entry, 'roster+jws')
      demandShort(entry, parsed.payload)
      return parsed
    })
    return events.transaction(async (trx) => {
      await holdApproved(trx, session)
      // Before the connection is held, in the order in which key logs grow.
      await countEntry(trx, { account, connection, op: said.get('op') }, now())
      await holdConnection(trx, connection)
      const entries = await rosterEntries(trx, connection)
      // A device that did not hear the answer sends the same again, perhaps the entry by which it left.
      const seen = entries.indexOf(entry)
      if (seen >= 0 && said.get('actor') === account) return placeOf(entries, seen)
      await demandMember(trx, account, connection)
      const head = hashOf(entries.at(-1)!)
      if (said.get('prev') !== encodeBase64url(head)) throw moved('Another entry came first', head)
      const accounts = judged('entry', () => accountsOf([...entries, entry]))
      const keyLogs = await keyLogsOf(trx, connection, accounts)
      const after = await judgedLater('entry', async () => {
        const roster = await storedRoster(connection, { entries, keyLogs }, [entry])
        demandSignedBy(said, sender, keyLogs)
        return roster
      })
      const there = await present(trx, after)
      const sealed = judged('envelopes', () =>
        addressed(envelopes, { sender, roster: there, keyLogs, newest: head }),
      )
      if (opensEpoch(said)) demandSealed(sender, sealed)
      await store(trx, { events }, after, { said, sender, envelopes: sealed, at: now() })
      return placeOf(after.entries, after.seq)
    })
  }
