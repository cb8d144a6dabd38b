/**
 * The inviter's side of a first contact, on the device that created the words.
 *
 * It replies once, and only after it is stored on disk that the words are used.
 * @see protocol, section 3a
 */
import type { Run } from '../../api/device/first-contacts.ts'
import type { Account } from '../../api/port.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import {
  contactFailure,
  parseBegin,
  parseEnd,
  writeFailed,
  writeReply,
} from '../../crypto/contact-messages.ts'
import { answerAsInviter } from '../../crypto/first-contact.ts'
import { ID_PREFIX, isId } from '../../crypto/encoding/id.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { requireThat, Refusal } from '../../crypto/refusal.ts'
import type { FirstContactRow } from '../../state/invitations.ts'
import { confirmCard } from '../trust/confirmed-keys.ts'
import type { DeviceContext } from '../context.ts'
import { reasonOf } from './outcomes.ts'
import {
  ending,
  type InviterSecret,
  keepSecret,
  storedPlace,
  readContactSecret,
  readingLogs,
  rosterPlace,
  runOf,
} from './secrets.ts'
import { pullKeyLog } from '../logs/key-log.ts'

type Begun = NonNullable<InviterSecret['begun']>

/** Returns the CPace responder to the invitee's message. It is the same after a restart. */
function responderOf(
  device: DeviceContext,
  row: FirstContactRow,
  secret: InviterSecret,
  begun: Begun,
) {
  const own = device.identity.account
  return answerAsInviter(
    runOf(row, secret.words, own),
    { ...rosterPlace(own, begun.own), rosterHead: decodeBase64url(begun.own.rosterHead) },
    parseBegin(begun.message),
    rosterPlace(begun.invitee.account, begun.invitee),
    decodeBase64url(secret.scalar),
  )
}

/** Returns what this device verified about both sides, from the account server's current logs. */
async function begunBy(
  device: DeviceContext,
  account: Account,
  { peer, connection }: FirstContactRow,
  { invitee, message }: { invitee: string; message: string },
): Promise<Begun> {
  // If the invitation is to a mailbox, any account that has the words may respond. If it is to an
  // account, only that account may respond.
  requireThat(
    !isId(ID_PREFIX.account, peer) || peer === invitee,
    'ad_mismatch',
    'another account answered',
  )
  const read = (id: string) => readingLogs(() => pullKeyLog(device, account, id))
  const theirs = await read(invitee)
  const own = await read(device.identity.account)
  const roster = device.state.logs.head('roster', connection)
  requireThat(roster !== null, 'wrong_connection', 'this device has no roster of the connection')
  const rosterHead = encodeBase64url(entryHash(roster.entry))
  return {
    message,
    invitee: { account: invitee, generation: theirs.generation, ...storedPlace(theirs) },
    own: { ...storedPlace(own), rosterHead },
  }
}

/**
 * Does the next step on the inviter's side.
 * @param run the run at the account server; null if the server has none with this id
 * @throws AppError for any error from the account server; the step is then repeated
 */
export async function inviterStep(
  device: DeviceContext,
  account: Account,
  row: FirstContactRow,
  run: Run | null,
): Promise<void> {
  const { state } = device
  const { invitation, sid } = row
  const end = ending(device, row)
  const close = () => account.deviceFirstContacts.end({ invitation })
  const send = (message: string) =>
    account.deviceFirstContacts.send({ invitation, body: { sid, place: 1, message } })
  const secret = readContactSecret<InviterSecret>(device, invitation)
  if (secret === null) return end('message_refused')
  let { begun } = secret
  const first = run?.messages[0]
  if (begun === undefined) {
    if (first === undefined || run === null || run.invitee === null) return
    try {
      begun = await begunBy(device, account, row, { invitee: run.invitee, message: first })
      responderOf(device, row, secret, begun)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      // Nothing was sent that helps to guess the words, but they were spoken for this run and are
      // used up.
      const failure = contactFailure(error.reason)
      await send(writeFailed(failure))
      return end(reasonOf(failure))
    }
    const used = { ...secret, begun }
    device.requireSession()
    state.transaction(() => {
      keepSecret(device, invitation, used)
      state.firstContacts.put({ ...row, state: 'answered', peer: used.begun.invitee.account })
    })
  }
  const responder = responderOf(device, row, secret, begun)
  if (run !== null && run.messages.length < 2) await send(writeReply(responder.reply))
  const last = run?.messages[2]
  if (last === undefined) return
  const { account: id, generation } = begun.invitee
  const answered = { ...row, peer: id }
  try {
    const outcome = parseEnd(last)
    if (typeof outcome === 'string') {
      ending(device, answered)(reasonOf(outcome))
      return await close()
    }
    responder.finish(outcome)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    ending(device, answered)(reasonOf(contactFailure(error.reason)))
    return close()
  }
  await confirmCard(device, account, { id, generation })
  ending(device, answered)(null)
  device.syncSoon()
  await close()
}
