/**
 * The invitee's side of a first contact (protocol, section 5). It begins; the first reply decides,
 * since each lets the one who made it try one guess at the words.
 */
import type { Run } from '../../api/device/first-contacts.ts'
import type { Account } from '../../api/port.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import {
  failureOf,
  parseReply,
  rosterHeadIn,
  writeBegin,
  writeEnd,
  writeFailed,
} from '../../crypto/contact-messages.ts'
import { beginAsInvitee, inviterAd } from '../../crypto/first-contact.ts'
import { hashOf } from '../../crypto/jose/jws.ts'
import { demand, Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { isRefusal } from '../../storage/idempotency.ts'
import type { FirstContactRow } from '../../state/first-contacts.ts'
import { approveInvitation } from '../connections/approving.ts'
import { confirmCard } from '../trust/confirmed-keys.ts'
import type { DeviceContext } from '../context.ts'
import { ending, readingLogs } from './deletion.ts'
import { reasonOf } from './outcomes.ts'
import { type InviteeSecret, keepSecret, placeOf, readSecret, runOf } from './secrets.ts'
import { pullKeyLog } from '../logs/key-log.ts'
import { rememberRoster } from '../logs/roster-cache.ts'
import { fetchRoster } from '../logs/rosters.ts'

/** The account server names another connection or inviter than the run was for. */
const isOtherInvitation = (error: unknown): boolean =>
  error instanceof AppError && error.details.state === 'other_invitation'

type Verified = NonNullable<InviteeSecret['verified']>

/** The run that this device began; the same after a restart. */
const initiatorOf = (
  device: DeviceContext,
  row: FirstContactRow,
  { words, scalar, own }: InviteeSecret,
) =>
  beginAsInvitee(
    runOf(row, words, row.peer),
    placeOf(device.identity.account, own),
    decodeBase64url(scalar),
  )

/**
 * Checks the inviter's reply against the logs that this device verified.
 * @returns the last message, or the failure that the inviter names
 * @throws Refusal for a reply that is not right, AppError what the account throws
 */
async function verified(
  device: DeviceContext,
  account: Account,
  row: FirstContactRow,
  { secret, message }: { secret: InviteeSecret; message: string },
): Promise<Verified | ReturnType<typeof failureOf>> {
  const reply = parseReply(message)
  if (typeof reply === 'string') return reply
  const { log, roster } = await readingLogs(async () => ({
    log: await pullKeyLog(device, account, row.peer),
    roster: (await fetchRoster(device, account, row.connection)).roster,
  }))
  const rosterHead = rosterHeadIn(reply)
  // The roster may have grown since the reply. What comes later continues the entry that it names.
  const hasEntry = roster.entries.some((entry) => Buffer.compare(hashOf(entry), rosterHead) === 0)
  const isMember = roster.members.some((member) => member.account === row.peer)
  demand(hasEntry && isMember, 'ad_mismatch', 'the other side names another roster')
  const expected = inviterAd({ account: row.peer, seq: log.seq, head: log.head, rosterHead })
  const { tag } = initiatorOf(device, row, secret).finish(reply, expected)
  device.demandSeat()
  // Whatever the account server shows later has to continue this roster.
  rememberRoster(device.state, roster)
  return { message: writeEnd(tag), generation: log.generation }
}

/**
 * Does what is due on the invitee's side.
 * @param run what the account server has; null where it has nothing of this run
 * @throws AppError what the account throws: then it is due again
 */
export async function inviteeStep(
  device: DeviceContext,
  account: Account,
  row: FirstContactRow,
  run: Run | null,
): Promise<void> {
  const { state } = device
  const { invitation, sid, peer: id } = row
  const end = ending(device, row)
  const send = (place: 0 | 2, message: string) =>
    account.deviceFirstContacts.send({ invitation, body: { sid, place, message } })
  const secret = readSecret<InviteeSecret>(device, invitation)
  if (secret === null) return end('message_refused')
  let done = secret.verified
  if (done === undefined) {
    const message = run?.messages[1]
    if (message === undefined) {
      const begin = writeBegin(initiatorOf(device, row, secret).message)
      if (run === null || run.messages[0] !== begin) await send(0, begin)
      return
    }
    try {
      const outcome = await verified(device, account, row, { secret, message })
      if (typeof outcome === 'string') return end(reasonOf(outcome))
      done = outcome
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const failure = failureOf(error.reason)
      end(reasonOf(failure))
      return send(2, writeFailed(failure))
    }
    const kept = { ...secret, verified: done }
    state.transaction(() => {
      keepSecret(device, invitation, kept)
      state.firstContacts.put({ ...row, state: 'answered' })
    })
  }
  try {
    // The words prove this connection and inviter, and no other that the server may name now.
    await approveInvitation(device, account, invitation, {
      connection: row.connection,
      inviter: id,
    })
  } catch (error) {
    if (isOtherInvitation(error)) return end('ad_mismatch')
    // It was withdrawn meanwhile; the words were right all the same.
    if (!isRefusal(error)) throw error
  }
  await confirmCard(device, account, { id, generation: done.generation })
  if (run !== null) await send(2, done.message)
  end(null)
}
