/**
 * Creates four words for an invitation, and checks words that the invitee typed.
 * @see protocol, section 3a
 */
import { randomBytes } from 'node:crypto'
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import { type ContactWords, WORDS_MS } from '../../api/rest/first-contacts.ts'
import type { Invitation } from '../../api/rest/invitations.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { sampleScalar } from '../../crypto/cpace.ts'
import { CONTACT_WORDS, newContactWords } from '../../crypto/first-contact.ts'
import { parseWords } from '../../crypto/words.ts'
import { AppError } from '../../errors.ts'
import { failedContact, notTried } from './outcomes.ts'
import { keepSecret, storedPlace } from './secrets.ts'
import { fetchKeyLog, withLogRefusals, rememberKeyLog } from '../logs/key-log.ts'
import type { DeviceContext } from '../context.ts'
import type { FirstContacts } from './first-contacts.ts'
import { asTyped } from '../codes/typed-words.ts'

/** The maximum number of attempts in 15 minutes on the invitee's device. */
const MOST_TRIES = 3
/** How long an approval waits for the inviter's device before it returns, in milliseconds. */
const PATIENCE_MS = 10_000

/** A device with its open first contacts. */
type WithFirstContacts = DeviceContext & { readonly firstContacts: FirstContacts }

const newScalar = () => encodeBase64url(sampleScalar())

/**
 * Creates words for an invitation that this account sent. Earlier words for it become invalid.
 * @throws AppError invalid_state if the invitation has ended, rate_limited, keychain_locked, and
 *   any error from the account server
 */
export async function makeWords(
  device: WithFirstContacts,
  account: Account,
  { id, connection_id, to }: Pick<Invitation, 'id' | 'connection_id' | 'to'>,
): Promise<ContactWords> {
  const { state, now } = device
  const sid = encodeBase64url(randomBytes(16))
  const words = newContactWords().join(' ')
  const peer = to.user_id ?? to.email ?? ''
  const until = await device.firstContacts.betweenPolls(async () => {
    await account.deviceFirstContacts.open({ body: { invitation: id, sid } })
    device.requireSession()
    const started_at = now()
    const row = {
      invitation: id,
      connection: connection_id,
      role: 'inviter',
      peer,
      sid,
      state: 'open',
      reason: null,
      started_at,
      until: started_at + WORDS_MS,
    } as const
    state.transaction(() => {
      keepSecret(device, id, { words, scalar: newScalar() })
      state.firstContacts.put(row)
    })
    return row.until
  })
  device.firstContacts.wake()
  return { invitation_id: id, to: to.email ?? peer, words, expires_at: timeAt(until) }
}

/**
 * Returns a received invitation from the account server.
 * @throws AppError not_found
 */
async function received(account: Account, id: string): Promise<Invitation> {
  const found = (await account.invitations.list({})).received.find((one) => one.id === id)
  if (found === undefined) throw new AppError('not_found', 'There is no such invitation.')
  return found
}

/**
 * Returns the first contact that is open for an invitation at the account server.
 * @throws AppError invalid_state
 */
async function openRun(device: WithFirstContacts, account: Account, invitation: string) {
  const before = device.state.firstContacts.get(invitation)
  try {
    const run = await account.deviceFirstContacts.read({ invitation })
    if (run.messages.length > 0) throw notTried('words_used')
    return run
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'not_found')) throw error
    // The inviter's device ended the run when an earlier attempt of this device failed.
    const isUsed = before !== null && device.now() < before.until
    throw notTried(isUsed ? 'words_used' : 'no_words')
  }
}

/**
 * Checks the words of an invitation, and approves the invitation if they are right.
 *
 * The attempt is stored on disk before any message is sent.
 * @returns the invitation. It is still pending if the inviter's device has not responded within ten
 *   seconds; this device then continues to poll.
 * @throws AppError word_count and unknown_word, which do not count as attempts; invalid_state with
 *   the states of `outcomes.ts`; and any error from the account server
 */
export async function approveByWords(
  device: WithFirstContacts,
  account: Account,
  { id, words: typed }: { id: string; words: string },
): Promise<Invitation> {
  const { state, now, identity } = device
  const words = asTyped(() => parseWords(typed, CONTACT_WORDS).words.join(' '), {
    typed,
    wanted: 'Four words are needed',
  })
  const before = state.firstContacts.get(id)
  if (before?.state === 'open' || before?.state === 'answered') throw notTried('under_way')
  await received(account, id)
  if (state.firstContacts.tries(id, now() - WORDS_MS) >= MOST_TRIES)
    throw notTried('too_many_tries')
  const { sid, connection, inviter, expires_at } = await openRun(device, account, id)
  const log = await fetchKeyLog(state, account, identity.account)
  device.requireSession()
  withLogRefusals(() => rememberKeyLog(device, log))
  const started_at = now()
  state.transaction(() => {
    state.firstContacts.dropTries(started_at - WORDS_MS)
    state.firstContacts.addTry(id, started_at)
    keepSecret(device, id, { words, scalar: newScalar(), own: storedPlace(log) })
    state.firstContacts.put({
      invitation: id,
      connection,
      role: 'invitee',
      peer: inviter,
      sid,
      state: 'open',
      reason: null,
      started_at,
      until: Math.min(Date.parse(expires_at), started_at + WORDS_MS),
    })
  })
  await device.firstContacts.turn()
  device.firstContacts.wake()
  await device.firstContacts.ended(id, PATIENCE_MS)
  const row = state.firstContacts.get(id)
  if (row?.state === 'failed') throw failedContact(row)
  return received(account, id)
}
