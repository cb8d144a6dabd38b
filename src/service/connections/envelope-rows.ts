/**
 * Envelopes as they are judged and kept. What is inside the server cannot see, so it cannot tell a good one from a bad one: of two
 * for one device and epoch the first stays, or a member could put a bad one in the place of each good one. A device whose envelope
 * does not open deletes it and so waits for another; those that a device sealed go with it when it is revoked, so that others seal anew.
 */
import type { Transaction } from 'kysely'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { type Envelope, readEnvelope } from '../../crypto/envelope-form.ts'
import { demand } from '../../crypto/refusal.ts'
import { type KeyLogs, type Roster, recipientsOf } from '../../crypto/logs/roster.ts'
import { AppError } from '../../errors.ts'
import type { Schema } from '../db/schema.ts'

/** The device that seals, and whose it is. */
export interface Sender {
  readonly account: string
  readonly device: string
}

export interface Addressed {
  readonly recipient: string
  readonly account: string
  readonly envelope: string
}

/** The state of a connection that an entry or an envelope was not made for: read it and decide anew. */
export const moved = (what: string, head: Uint8Array): AppError =>
  new AppError('conflict', `${what}: read the roster and its key logs, and decide anew.`, {
    details: { head: encodeBase64url(head) },
  })

/** Devices that somebody in the roster has, or once had. */
const everNamed = (keyLogs: KeyLogs, device: string) =>
  [...keyLogs.values()].some(({ devices }) => devices.has(device))

/** Throws Refusal unless it is for the current epoch; AppError `conflict` for an earlier one. */
function demandCurrent(envelope: Envelope, roster: Roster, newest: Uint8Array): void {
  const { connection, epoch, epoch_head } = envelope
  demand(connection === roster.connection, 'wrong_connection', 'of another connection')
  if (epoch < roster.epoch) throw moved('Another epoch has begun', newest)
  demand(epoch === roster.epoch, 'unknown_epoch', 'sealed for another epoch')
  const head = encodeBase64url(roster.epochHead)
  demand(epoch_head === head, 'wrong_epoch_head', 'the epoch was opened by another entry')
}

/**
 * Whom each envelope is for: devices of members, each at most once.
 * @param of `roster`: verified, as it is once they are kept; `newest`: the hash of the newest entry that is kept already
 * @throws Refusal for an envelope that breaks a rule; AppError `conflict` for one that was right before something changed
 */
export function addressed(
  envelopes: readonly string[],
  of: { sender: Sender; roster: Roster; keyLogs: KeyLogs; newest: Uint8Array },
): Addressed[] {
  const { sender, roster, keyLogs, newest } = of
  if (envelopes.length === 0) return []
  const recipients = new Map(recipientsOf(roster, keyLogs).map((one) => [one.device.id, one]))
  demand(recipients.has(sender.device), 'sender_not_member', 'sealed by no device of a member')
  const list = envelopes.map((text): Addressed => {
    const envelope = readEnvelope(text)
    demandCurrent(envelope, roster, newest)
    const recipient = recipients.get(envelope.recipient)
    if (recipient === undefined && everNamed(keyLogs, envelope.recipient))
      throw moved('A device that it is sealed to is a member’s no more', newest)
    demand(recipient !== undefined, 'wrong_recipient', 'sealed to no device of a member')
    const { account, device } = recipient
    if (envelope.recipient_kid !== device.seal)
      throw moved('A device that it is sealed to has another sealing key', newest)
    return { recipient: device.id, account, envelope: text }
  })
  const distinct = new Set(list.map(({ recipient }) => recipient)).size === list.length
  demand(distinct, 'duplicate_device', 'two envelopes for one device')
  return list
}

/** Those whose recipients have posted their check of the key log, or were never to (section 4). */
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
 * Stores envelopes of the current epoch. One for a device that waits for approval is dropped; the
 * device is listed as unsealed once it is approved.
 * @returns those that were stored: for devices that had none
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
  const kept = await trx
    .insertInto('envelopes')
    .values(
      wanted.map(({ recipient, envelope }) => {
        return { connection_id, epoch, recipient, envelope, sender: of.sender }
      }),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('recipient')
    .execute()
  const ids = new Set(kept.map(({ recipient }) => recipient))
  return wanted.filter(({ recipient }) => ids.has(recipient))
}
