/**
 * The approving side of a device approval: a device approves a new device of its account.
 *
 * The approving device answers one commitment of the new device with a nonce. It then checks the
 * keys that the new device reveals against the commitment. When the user types the four words from
 * the new device's screen here, the approving device signs the revealed keys into the key log.
 * Nonces and words are only in memory, so after a restart the user must begin again.
 * @see protocol, section 3
 */
import { randomBytes } from 'node:crypto'
import type { Account } from '../../api/port.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import {
  type ApprovalAnswer,
  approvalWords,
  checkReveal,
  transcriptOf,
} from '../../crypto/device-approval.ts'
import { type LoggedKeys, rawKeys, sameKeys } from '../../crypto/device-public-keys.ts'
import type { KeyLog } from '../../crypto/logs/key-log.ts'
import { addDevice } from '../../crypto/logs/key-log-entries.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { ATTEMPT_MS, countAttempt, verifyRelay, requireAttempt, requireWords } from './attempts.ts'
import type { DeviceContext } from '../context.ts'
import { newQueue } from '../in-order.ts'
import { continueKeyLog, fetchKeyLog, withLogRefusals, rememberKeyLog } from '../logs/key-log.ts'

/**
 * The state of an attempt.
 *
 * - `waiting`: the new device has not sent its commitment
 * - `answered`: the commitment was answered earlier, so the new device must begin again
 * - `revealing`: this device has answered, and the new device has not revealed its keys
 * - `ready`: the user can type the words
 */
type ApprovalState = 'waiting' | 'answered' | 'revealing' | 'ready'

/** An attempt as the user sees it. */
interface ApprovalSeen {
  readonly device_name: string
  readonly state: ApprovalState
}

export interface Approver {
  /**
   * Begins an attempt to approve a device. Ends an attempt that is open.
   * @throws AppError not_found, rate_limited, and as `advance` does
   */
  begin(account: Account, id: string): Promise<ApprovalSeen>
  /**
   * Advances the open attempt as far as the new device has progressed. Callers poll it every
   * second.
   * @throws AppError invalid_state if no attempt is open, not_found if no such device waits either,
   *   conflict if the new device began again, rate_limited, backend_error if relayed data breaks a
   *   rule, and any error from the account server
   */
  advance(account: Account, id: string): Promise<ApprovalSeen>
  /**
   * Compares the new device's words, and adds the device to the key log unless it is there already.
   * @param words the words that the user read from the new device's screen
   * @returns the words that the user must type on the new device
   * @throws AppError invalid_state, not_found, word_count, unknown_word, validation_failed,
   *   conflict, backend_error, not_signed_in if this device was signed out or revoked meanwhile,
   *   and any error from the account server
   */
  approve(
    account: Account,
    id: string,
    words: string,
  ): Promise<{ device_name: string; words: string }>
}

interface Open {
  readonly device: string
  readonly name: string
  /** Unix milliseconds. */
  readonly until: number
  sent: { readonly commitment: string; readonly answer: ApprovalAnswer } | null
  ready: {
    readonly keys: LoggedKeys
    readonly shownThere: readonly string[]
    readonly shownHere: readonly string[]
  } | null
}

const OTHER_WORDS =
  'These words do not match the device that the account server offers. Nothing was signed. Type the four words that the new device shows now, not those of an earlier attempt or of this device. ' +
  'If they are rejected again, do not approve the device. The account server offers a device that is not yours, and may be dishonest.'

const noneOpen = () =>
  new AppError(
    'invalid_state',
    'No approval of this device is in progress here. An approval lasts 15 minutes and ends with a restart. Run "countersignd device approve" again, and "countersignd login" on the new device.',
    { details: { state: 'no_attempt' } },
  )

const notReady = () =>
  new AppError(
    'invalid_state',
    'The new device has not shown its words yet. Run "countersignd login" on it.',
    { details: { state: 'not_revealed' } },
  )

const beganAgain = () =>
  new AppError(
    'conflict',
    'The new device started again, or another device answered it. Nothing was approved. Run "countersignd device approve" again.',
  )

const ended = () =>
  new AppError('conflict', 'Another approval was started on this device, so this one has ended.')

/**
 * Requires that the key log contains this device and has not revoked it.
 * @throws AppError not_signed_in
 */
function requireActive({ devices }: KeyLog, own: string): void {
  if (devices.get(own)?.revokedAt === null) return
  throw new AppError(
    'not_signed_in',
    'According to the key log from the account server, this device is revoked, so it cannot approve another device. If no device of the account revoked it, the server may be dishonest. ' +
      'Otherwise run "countersignd logout" here, and sign in again.',
  )
}

const otherDevice = () =>
  new AppError(
    'conflict',
    'The key log already contains the new device, but the device is revoked there or has other keys. Nothing was approved. Sign in again on the new device.',
  )

/**
 * Checks whether a key log contains the device with these keys.
 * @throws AppError conflict if the device was revoked or has other keys
 */
function isIn(log: KeyLog, { id, keys }: { id: string; keys: LoggedKeys }): boolean {
  const known = log.devices.get(id)
  if (known === undefined) return false
  if (known.revokedAt === null && sameKeys(known.keys, keys)) return true
  throw otherDevice()
}

/**
 * Returns the entry that must directly precede the new device's own entry: the newest one. If an
 * earlier attempt already added the device, returns the entry before the device's entry.
 * @throws AppError conflict if the device was revoked or is the account's first device
 */
function placeFor({ devices, heads, seq, head }: KeyLog, id: string) {
  const known = devices.get(id)
  if (known === undefined) return { seq, head }
  if (known.revokedAt !== null || known.addedAt === 0) throw otherDevice()
  return { seq: known.addedAt - 1, head: heads[known.addedAt - 1]! }
}

type Attempt = Awaited<ReturnType<Account['pendingDevices']['read']>>

const sentOf = ({ commitment, answer: { nonce, seq, head } }: NonNullable<Open['sent']>) => ({
  commitment,
  answer: { nonce: encodeBase64url(nonce), seq, head: encodeBase64url(head) },
})

/**
 * Creates the approving side. At most one attempt is open at a time.
 * @param of the device; `now` returns Unix milliseconds
 */
export function newApprover(
  of: Pick<DeviceContext, 'identity' | 'state' | 'codes' | 'vault' | 'now' | 'requireSession'>,
): Approver {
  const { identity, state, now } = of
  let open: Open | null = null
  const inTurn = newQueue()

  /**
   * Returns the open attempt.
   * @throws AppError invalid_state if no attempt is open, conflict if another attempt replaced it
   */
  function current(id: string): Open {
    if (open !== null && now() >= open.until) open = null
    if (open === null) throw noneOpen()
    if (open.device !== id) throw ended()
    return open
  }

  /**
   * Returns the open attempt, as `current` does. If none is open, an unknown device is the reason.
   * @throws AppError not_found also
   */
  async function currentOf(account: Account, id: string): Promise<Open> {
    if (open === null) await account.pendingDevices.read({ id })
    return current(id)
  }

  /** Answers the new device's commitment, and stores the key log to which the answer refers. */
  async function answer(
    account: Account,
    run: Open,
    { commitment, answered_by }: Attempt,
  ): Promise<ApprovalState> {
    if (answered_by !== null) return 'answered'
    if (commitment === null) return 'waiting'
    const log = await fetchKeyLog(state, account, identity.account)
    requireActive(log, identity.device)
    const place = placeFor(log, run.device)
    of.requireSession()
    withLogRefusals(() => rememberKeyLog(of, log))
    countAttempt(state, 'approving', now())
    const nonce = new Uint8Array(randomBytes(32))
    run.sent = { commitment, answer: { nonce, ...place } }
    await account.pendingDevices.answer({ id: run.device, body: sentOf(run.sent) })
    return 'revealing'
  }

  /** Checks the keys that the new device reveals, and computes the words. */
  function take(run: Open, sent: NonNullable<Open['sent']>, { reveal }: Attempt): ApprovalState {
    if (reveal === null) return 'revealing'
    const { account, device } = reveal
    const keys = reveal.keys as LoggedKeys
    run.ready = verifyRelay(() => {
      requireThat(
        account === identity.account,
        'wrong_account',
        'the device belongs to another account',
      )
      requireThat(device === run.device, 'unknown_device', 'this is not the device that was chosen')
      const nonce = decodeBase64url(reveal.nonce)
      const revealed = { account, device, keys: rawKeys(keys), nonce }
      checkReveal(decodeBase64url(sent.commitment), revealed)
      const words = approvalWords(transcriptOf(revealed, sent.answer))
      return { keys, shownThere: words.newDevice, shownHere: words.oldDevice }
    })
    return 'ready'
  }

  async function step(account: Account, run: Open): Promise<ApprovalState> {
    if (run.ready !== null) return 'ready'
    const seen = await account.pendingDevices.read({ id: run.device })
    const { sent } = run
    if (sent === null) return answer(account, run, seen)
    if (seen.commitment !== sent.commitment) throw beganAgain()
    if (seen.answered_by === identity.device) return take(run, sent, seen)
    if (seen.answered_by !== null) throw beganAgain()
    // Sent again, because the account server may not have received the answer.
    await account.pendingDevices.answer({ id: run.device, body: sentOf(sent) })
    return 'revealing'
  }

  /** Codes of errors that end the attempt. Only a new attempt can succeed. */
  const OVER: readonly unknown[] = ['conflict', 'backend_error', 'not_signed_in', 'not_found']

  async function advance(account: Account, id: string): Promise<ApprovalSeen> {
    const run = await currentOf(account, id)
    try {
      return { device_name: run.name, state: await step(account, run) }
    } catch (error) {
      if (error instanceof AppError && OVER.includes(error.code)) open = null
      throw error
    }
  }

  async function begin(account: Account, id: string): Promise<ApprovalSeen> {
    requireAttempt(state, 'approving', now())
    const { name } = await account.pendingDevices.read({ id })
    open = { device: id, name, until: now() + ATTEMPT_MS, sent: null, ready: null }
    return advance(account, id)
  }

  async function approve(account: Account, id: string, words: string) {
    const { ready, name } = await currentOf(account, id)
    if (ready === null) throw notReady()
    requireWords(words, ready.shownThere, OTHER_WORDS)
    const device = { id, keys: ready.keys }
    const { sign } = await identity.keys()
    const signed = { by: identity.device, kid: identity.kid, seed: sign.secret }
    const log = await continueKeyLog(state, account, identity.account, (before) => {
      requireActive(before, identity.device)
      if (isIn(before, device)) return null
      const at = Math.floor(now() / 1000)
      return addDevice({ log: before, device, ...signed, at })
    })
    of.requireSession()
    withLogRefusals(() => rememberKeyLog(of, log))
    return { device_name: name, words: ready.shownHere.join(' ') }
  }

  return {
    begin: (account, id) => inTurn(() => begin(account, id)),
    advance: (account, id) => inTurn(() => advance(account, id)),
    approve: (account, id, words) => inTurn(() => approve(account, id, words)),
  }
}
