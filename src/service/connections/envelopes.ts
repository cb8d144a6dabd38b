/**
 * Envelopes: secrets, each encrypted to one device. The server cannot read an envelope, so it
 * cannot distinguish a good one from a bad one. If there are two for one device and epoch, the
 * server keeps the first, because otherwise a member could replace good envelopes with bad ones. A
 * device that cannot decrypt its envelope deletes it, and waits for another one. When a device is
 * revoked, the envelopes that it sealed are deleted, and other devices seal them again.
 */
import type { Transaction } from 'kysely'
import type { Service } from '../../api/port.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { type EnvelopeFields, readEnvelope } from '../../crypto/envelope-form.ts'
import {
  accountsInRoster,
  type KeyLogs,
  recipientsOf,
  type Roster,
} from '../../crypto/logs/roster.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { holdApproved, requireApproved } from '../accounts/device-rows.ts'
import { storedRoster } from '../accounts/stored-logs.ts'
import type { ServiceContext } from '../context.ts'
import { deviceOf, verified, requireId } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'
import {
  CONNECTION_PREFIX,
  lockConnection,
  requireMember,
  touchConnection,
} from './connection-rows.ts'
import { keyLogsOf, rosterEntries, withoutDeletedMembers } from './roster-rows.ts'

/** The device that seals, and its account. */
export interface Sender {
  readonly account: string
  readonly device: string
}

export interface Addressed {
  readonly recipient: string
  readonly account: string
  readonly envelope: string
}

/**
 * Returns the error for an entry or envelope that was made for an earlier state of the connection.
 * The device must read the roster again and decide again.
 */
export const outdated = (what: string, head: Uint8Array): AppError =>
  new AppError('conflict', `${what}. Read the roster and its key logs, then try again.`, {
    details: { head: encodeBase64url(head) },
  })

/** Returns whether any of these key logs names the device, which may be revoked. */
const everNamed = (keyLogs: KeyLogs, device: string) =>
  [...keyLogs.values()].some(({ devices }) => devices.has(device))

/**
 * Checks that an envelope belongs to the connection and its current epoch.
 * @throws Refusal for another connection or an unknown epoch
 * @throws AppError `conflict` for an earlier epoch
 */
function requireCurrent(envelope: EnvelopeFields, roster: Roster, newest: Uint8Array): void {
  const { connection, epoch, epoch_head } = envelope
  requireThat(
    connection === roster.connection,
    'wrong_connection',
    'the envelope is for another connection',
  )
  if (epoch < roster.epoch) throw outdated('Another epoch has started', newest)
  requireThat(epoch === roster.epoch, 'unknown_epoch', 'the envelope is for another epoch')
  const head = encodeBase64url(roster.epochHead)
  requireThat(epoch_head === head, 'wrong_epoch_head', 'another entry opened the epoch')
}

/**
 * Checks envelopes and returns them with their recipients. Each must be for a different device of a
 * member.
 * @param of `roster`: the verified roster, including the entry that is sent together with the
 *   envelopes; `newest`: the hash of the newest stored entry
 * @throws Refusal for an envelope that breaks a rule
 * @throws AppError `conflict` for an envelope that was valid until a recent change
 */
export function addressed(
  envelopes: readonly string[],
  of: { sender: Sender; roster: Roster; keyLogs: KeyLogs; newest: Uint8Array },
): Addressed[] {
  const { sender, roster, keyLogs, newest } = of
  if (envelopes.length === 0) return []
  const recipients = new Map(recipientsOf(roster, keyLogs).map((one) => [one.device.id, one]))
  requireThat(
    recipients.has(sender.device),
    'sender_not_member',
    'the envelope is not sealed by a device of a member',
  )
  const list = envelopes.map((text): Addressed => {
    const envelope = readEnvelope(text)
    requireCurrent(envelope, roster, newest)
    const recipient = recipients.get(envelope.recipient)
    if (recipient === undefined && everNamed(keyLogs, envelope.recipient))
      throw outdated('An envelope is sealed to a device that no longer belongs to a member', newest)
    requireThat(
      recipient !== undefined,
      'wrong_recipient',
      'the envelope is not sealed to a device of a member',
    )
    const { account, device } = recipient
    if (envelope.recipient_kid !== device.seal)
      throw outdated('An envelope is sealed to a device that now has another sealing key', newest)
    return { recipient: device.id, account, envelope: text }
  })
  const distinct = new Set(list.map(({ recipient }) => recipient)).size === list.length
  requireThat(distinct, 'duplicate_device', 'there are two envelopes for one device')
  return list
}

/** Returns the envelopes for devices that do not wait for approval (protocol, section 3). */
async function toApproved(
  trx: Transaction<Schema>,
  envelopes: readonly Addressed[],
): Promise<Addressed[]> {
  const unapproved = await trx
    .selectFrom('devices')
    .select('id')
    .where(
      'id',
      'in',
      envelopes.map(({ recipient }) => recipient),
    )
    .where('approved_at', 'is', null)
    .execute()
  const ids = new Set(unapproved.map(({ id }) => id))
  return envelopes.filter(({ recipient }) => !ids.has(recipient))
}

/**
 * Stores envelopes of the current epoch. An envelope for a device that waits for approval is
 * dropped. Once that device is approved, it is listed as a device without an envelope.
 * @returns the stored envelopes, which are for devices that had none yet
 */
export async function storeEnvelopes(
  trx: Transaction<Schema>,
  of: { roster: Pick<Roster, 'connection' | 'epoch'>; sender: string },
  envelopes: readonly Addressed[],
): Promise<Addressed[]> {
  if (envelopes.length === 0) return []
  const wanted = await toApproved(trx, envelopes)
  if (wanted.length === 0) return []
  const { connection: connection_id, epoch } = of.roster
  const stored = await trx
    .insertInto('envelopes')
    .values(
      wanted.map(({ recipient, envelope }) => {
        return { connection_id, epoch, recipient, envelope, sender: of.sender }
      }),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('recipient')
    .execute()
  const ids = new Set(stored.map(({ recipient }) => recipient))
  return wanted.filter(({ recipient }) => ids.has(recipient))
}

export const envelopes = ({ db, now }: ServiceContext): Service['envelopes'] => ({
  read: async ({ connection }, session) => {
    const device = deviceOf(session)
    await requireMember(db, session.account, connection)
    const rows = await db
      .selectFrom('envelopes')
      .innerJoin('devices', 'devices.id', 'recipient')
      .select('envelope')
      .where('connection_id', '=', connection)
      .where('recipient', '=', device)
      // A new device receives its envelopes only after it is approved, which is after its check of
      // the key log.
      .where('approved_at', 'is not', null)
      .orderBy('epoch')
      .execute()
    return { envelopes: rows.map((row) => row.envelope) }
  },

  delete: async ({ connection, epoch }, session) => {
    const device = await requireApproved(db, session)
    await requireMember(db, session.account, connection)
    await transactionWithMarks(db, async (trx) => {
      await trx
        .deleteFrom('envelopes')
        .where('connection_id', '=', connection)
        .where('recipient', '=', device)
        .where('epoch', '=', epoch)
        .execute()
      markChanged(trx, ['duties'], { membersOf: [connection] })
    })
  },

  add: async ({ connection, body }, session) => {
    requireId(CONNECTION_PREFIX, connection, 'connection')
    const { account } = session
    const sender = { account, device: await requireApproved(db, session) }
    return transactionWithMarks(db, async (trx) => {
      await holdApproved(trx, session)
      await lockConnection(trx, connection)
      await requireMember(trx, account, connection)
      const entries = await rosterEntries(trx, connection)
      const keyLogs = await keyLogsOf(trx, connection, accountsInRoster(entries))
      const roster = await storedRoster(connection, { entries, keyLogs })
      const there = await withoutDeletedMembers(trx, roster)
      const all = verified('envelopes', () =>
        addressed(body.envelopes, { sender, roster: there, keyLogs, newest: roster.head }),
      )
      const stored = await storeEnvelopes(trx, { roster, sender: sender.device }, all)
      const owners = [...new Set(stored.map((one) => one.account))]
      if (owners.length > 0) await touchConnection(trx, connection, now(), owners)
      return { stored: stored.length }
    })
  },
})
