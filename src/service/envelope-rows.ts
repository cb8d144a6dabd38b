/**
 * Envelopes as they are judged and kept. What is inside the server cannot see, so it cannot tell a good one from a bad one: of two
 * for one device and epoch the first stays, or a member could put a bad one in the place of each good one. A device whose envelope
 * does not open gets another with the next epoch, which any member may begin (`rotate`), and those that a device sealed go with it when it
 * is revoked, so that others seal anew.
 */
import type { Transaction } from 'kysely'
import { encodeBase64url } from '../crypto/base64url.ts'
import { thumbprint } from '../crypto/jwk.ts'
import { readEnvelope } from '../crypto/envelope-form.ts'
import { type ParsedJws, parseJws } from '../crypto/jws.ts'
import { type Device, signerAt, verifySignedBy } from '../crypto/key-log-v1.ts'
import { demand } from '../crypto/refusal.ts'
import { type Roster, recipientsOf } from '../crypto/roster.ts'
import { AppError } from '../errors.ts'
import type { KeyLogs } from './roster-rows.ts'
import type { Schema } from './schema.ts'

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

/** Throws Refusal unless it is sealed by the device for the current epoch; AppError `conflict` for an earlier one. */
function demandCurrent(
  { payload }: ParsedJws,
  { device }: Sender,
  roster: Roster,
  newest: Uint8Array,
): void {
  const of = (name: string) => payload.get(name)
  demand(of('connection') === roster.connection, 'wrong_connection', 'of another connection')
  const epoch = of('epoch')
  if (typeof epoch === 'number' && epoch < roster.epoch)
    throw moved('Another epoch has begun', newest)
  demand(epoch === roster.epoch, 'unknown_epoch', 'sealed for another epoch')
  const head = encodeBase64url(roster.epochHead)
  demand(of('epoch_head') === head, 'wrong_epoch_head', 'the epoch was opened by another entry')
  demand(of('sender') === device, 'unknown_signer', 'sealed by another device')
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
  const log = keyLogs.get(sender.account)!
  const by: Device = signerAt(log, sender.device, log.seq)
  const list = envelopes.map((envelope): Addressed => {
    const jws = parseJws(envelope, 'envelope+jws')
    readEnvelope(jws.payload)
    demandCurrent(jws, sender, roster, newest)
    verifySignedBy(by, jws)
    const to = jws.payload.get('recipient')
    demand(typeof to === 'string', 'bad_value', 'recipient is an id')
    const recipient = recipients.get(to)
    if (recipient === undefined && everNamed(keyLogs, to))
      throw moved('A device that it is sealed to is a member’s no more', newest)
    demand(recipient !== undefined, 'wrong_recipient', 'sealed to no device of a member')
    const { account, device } = recipient
    const kid = thumbprint(device.keys.seal)
    const sealedTo = jws.payload.get('recipient_kid')
    demand(sealedTo === kid, 'wrong_recipient_kid', 'sealed to another key')
    return { recipient: device.id, account, envelope }
  })
  const distinct = new Set(list.map(({ recipient }) => recipient)).size === list.length
  demand(distinct, 'duplicate_device', 'two envelopes for one device')
  return list
}

/** Keep envelopes of the current epoch. Answers those that were kept: for devices that had none. */
export async function storeEnvelopes(
  trx: Transaction<Schema>,
  of: { roster: Pick<Roster, 'connection' | 'epoch'>; sender: string },
  envelopes: readonly Addressed[],
): Promise<Addressed[]> {
  if (envelopes.length === 0) return []
  const { connection: connection_id, epoch } = of.roster
  const kept = await trx
    .insertInto('envelopes')
    .values(
      envelopes.map(({ recipient, envelope }) => {
        return { connection_id, epoch, recipient, envelope, sender: of.sender }
      }),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('recipient')
    .execute()
  const ids = new Set(kept.map(({ recipient }) => recipient))
  return envelopes.filter(({ recipient }) => ids.has(recipient))
}
