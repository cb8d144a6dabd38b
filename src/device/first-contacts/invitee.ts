/**
 * The invitee's side of a first contact.
 *
 * The invitee sends the first message. Only the first reply is used, because each reply lets its
 * sender guess the words once.
 * @see protocol, section 3a
 */
import type { Run } from '../../api/device/first-contacts.ts'
import type { Account } from '../../api/port.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import {
  contactFailure,
  parseReply,
  rosterHeadIn,
  writeBegin,
  writeEnd,
  writeFailed,
} from '../../crypto/contact-messages.ts'
import { beginAsInvitee, inviterAd } from '../../crypto/first-contact.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { requireThat, Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { isRefusal } from '../../storage/idempotency.ts'
import type { FirstContactRow } from '../../state/invitations.ts'
import { approveInvitation } from '../connections/consents.ts'
import { confirmCard } from '../trust/confirmed-keys.ts'
import type { DeviceContext } from '../context.ts'
import {
  ending,
  type InviteeSecret,
  keepSecret,
  readContactSecret,
  readingLogs,
  rosterPlace,
  runOf,
} from './secrets.ts'
import { reasonOf } from './outcomes.ts'
import { pullKeyLog } from '../logs/key-log.ts'
import { rememberRoster } from '../logs/roster-cache.ts'
import { fetchRoster } from '../logs/rosters.ts'

/**
 * Checks whether the account server named another connection or inviter than this first contact
 * has.
 */
const isOtherInvitation = (error: unknown): boolean =>
  error instanceof AppError && error.details.state === 'other_invitation'

type Verified = NonNullable<InviteeSecret['verified']>

/** Returns the CPace initiator of this device's run. It is the same after a restart. */
const initiatorOf = (
  device: DeviceContext,
  row: FirstContactRow,
  { words, scalar, own }: InviteeSecret,
) =>
  beginAsInvitee(
    runOf(row, words, row.peer),
    rosterPlace(device.identity.account, own),
    decodeBase64url(scalar),
  )

/**
 * Verifies the inviter's reply with the logs that this device verified.
 * @returns the last message to send, or the failure that the inviter reported
 * @throws Refusal for an invalid reply, AppError for any error from the account server
 */
async function verified(
  device: DeviceContext,
  account: Account,
  row: FirstContactRow,
  { secret, message }: { secret: InviteeSecret; message: string },
): Promise<Verified | ReturnType<typeof contactFailure>> {
  const reply = parseReply(message)
  if (typeof reply === 'string') return reply
  const { log, roster } = await readingLogs(async () => ({
    log: await pullKeyLog(device, account, row.peer),
    roster: (await fetchRoster(device, account, row.connection)).roster,
  }))
  const rosterHead = rosterHeadIn(reply)
  // The roster may have grown since the reply, so the named entry may be followed by later ones.
  const hasEntry = roster.entries.some(
    (entry) => Buffer.compare(entryHash(entry), rosterHead) === 0,
  )
  const isMember = roster.members.some((member) => member.account === row.peer)
  requireThat(hasEntry && isMember, 'ad_mismatch', 'the other side named another roster')
  const expected = inviterAd({ account: row.peer, seq: log.seq, head: log.head, rosterHead })
  const { tag } = initiatorOf(device, row, secret).finish(reply, expected)
  device.requireSession()
  // All later rosters from the account server must continue this one.
  rememberRoster(device.state, roster)
  return { message: writeEnd(tag), generation: log.generation }
}

/**
 * Does the next step on the invitee's side.
 * @param run the run at the account server; null if the server has none with this id
 * @throws AppError for any error from the account server; the step is then repeated
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
  const secret = readContactSecret<InviteeSecret>(device, invitation)
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
      const failure = contactFailure(error.reason)
      end(reasonOf(failure))
      return send(2, writeFailed(failure))
    }
    const updated = { ...secret, verified: done }
    state.transaction(() => {
      keepSecret(device, invitation, updated)
      state.firstContacts.put({ ...row, state: 'answered' })
    })
  }
  try {
    // The words prove this connection and inviter. The server may name others now.
    await approveInvitation(device, account, invitation, {
      connection: row.connection,
      inviter: id,
    })
  } catch (error) {
    if (isOtherInvitation(error)) return end('ad_mismatch')
    // The invitation was withdrawn meanwhile, but the words were right.
    if (!isRefusal(error)) throw error
  }
  await confirmCard(device, account, { id, generation: done.generation })
  if (run !== null) await send(2, done.message)
  end(null)
}
