/**
 * The new device's side of a device approval.
 *
 * The new device commits to its keys and a nonce, accepts only the first answer, and then reveals
 * keys and nonce. The user types the approving device's four words here. The new device then
 * accepts the account's key log if the log names it as the answer promised. Nonces and words are
 * only in memory, so after a restart a new attempt begins with the same keys.
 * @see protocol, section 3
 */
import { randomBytes } from 'node:crypto'
import type { Account } from '../../api/port.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import {
  type ApprovalAnswer,
  type Reveal,
  approvalWords,
  commitmentTo,
  transcriptOf,
} from '../../crypto/device-approval.ts'
import { type LoggedKeys, rawKeys } from '../../crypto/device-public-keys.ts'
import { publicKeys } from '../../crypto/device-keys.ts'
import { type KeyLog, checkOwnEntry } from '../../crypto/logs/key-log.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import {
  ATTEMPT_MS,
  countAttempt,
  verifyRelay,
  requireAttempt,
  requireWords,
} from '../approval/attempts.ts'
import { type Identity, changeFacts } from '../identity/identity.ts'
import { fetchKeyLog, withLogRefusals, keepKeyLog } from '../logs/key-log.ts'

/**
 * The meta key for the log head that was verified here, base64url, until the server has recorded
 * it.
 */
const CHECKED = 'approval_checked'

export interface OwnApproval {
  /** Returns this device's four words; null if the attempt has not progressed that far. */
  words(identity: Identity): string | null
  /**
   * Begins an attempt. Ends an attempt that is open.
   *
   * If a crash happened after the words of an earlier attempt were compared, completes that
   * attempt.
   * @returns whether this device is approved
   * @throws AppError rate_limited, and any error from the account server
   */
  begin(of: Asking): Promise<boolean>
  /**
   * Advances the open attempt as far as the approving device has progressed. Call it every second.
   * @throws AppError invalid_state if no attempt is open, conflict if the server no longer has the
   *   attempt, rate_limited, backend_error for an invalid answer, and any error from the account
   *   server
   */
  advance(of: Asking): Promise<void>
  /**
   * Compares the approving device's words, verifies and stores the key log, and reports the result.
   * @param words the words that the user read from the approving device's screen
   * @throws AppError invalid_state, word_count, unknown_word, validation_failed, backend_error, and
   *   any error from the account server
   */
  confirm(of: Asking, words: string): Promise<void>
}

interface Asking {
  readonly identity: Identity
  readonly account: Account
}

interface Open {
  readonly device: string
  /** Unix milliseconds. */
  readonly until: number
  readonly commitment: string
  readonly reveal: Reveal
  readonly keys: LoggedKeys
  /** The first answer, which is the only accepted one, and the words derived from it. */
  bound: {
    readonly answer: ApprovalAnswer
    readonly shownHere: readonly string[]
    readonly shownThere: readonly string[]
  } | null
  /** Whether the account server accepted the reveal. */
  revealed: boolean
}

type Relayed = NonNullable<Awaited<ReturnType<Account['approval']['read']>>['answer']>

const OTHER_WORDS =
  'These words do not match the approval of this device. Nothing was changed. Type the four words that the other device shows now, not those of an earlier attempt or of this device. ' +
  'If they are rejected again, the account server may be dishonest and show this device another account.'

const noneOpen = () =>
  new AppError(
    'invalid_state',
    'No approval of this device is in progress. An approval lasts 15 minutes and ends with a restart. Run "countersignd login" again, and "countersignd device approve" on the other device.',
    { details: { state: 'no_attempt' } },
  )

const notYet = () =>
  new AppError(
    'invalid_state',
    'Not approved yet. First approve this device on the other one, with "countersignd device approve" and the four words of this device.',
    { details: { state: 'awaiting_approval' } },
  )

const lost = () =>
  new AppError(
    'conflict',
    'The account server no longer has this attempt, which lasts 15 minutes. Run "countersignd login" again.',
  )

const wasRevoked = (cause: Refusal) =>
  new AppError(
    'invalid_state',
    'This device was revoked. Run "countersignd logout", then sign in again.',
    { details: { state: 'revoked' }, cause },
  )

/**
 * Requires that the entry that added this device follows the rule of section 3.
 * @throws AppError
 */
function requireOwn(log: KeyLog, { device, keys }: Open, { seq }: ApprovalAnswer): void {
  withLogRefusals(() => {
    try {
      checkOwnEntry(log, { device, keys }, seq)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (error.reason === 'not_in_log') throw notYet()
      if (error.reason === 'not_active') throw wasRevoked(error)
      throw error
    }
  })
}

/**
 * Creates the new device's side. At most one attempt is open at a time. Calls must not overlap.
 * @param of `now` returns Unix milliseconds
 */
export function newOwnApproval(of: { state: State; now: () => number }): OwnApproval {
  const { state, now } = of
  let open: Open | null = null

  /** Returns the open attempt of this device, or null. */
  function live({ device }: Identity): Open | null {
    if (open !== null && (now() >= open.until || open.device !== device)) open = null
    return open
  }

  function current(identity: Identity): Open {
    const run = live(identity)
    if (run === null) throw noneOpen()
    return run
  }

  /** Reports a completed verification to the server. Returns whether there was one. */
  async function finish({ identity, account }: Asking): Promise<boolean> {
    const head = state.meta.get(CHECKED) as string | null
    if (head === null) return false
    await account.approval.create({ body: { head } })
    state.transaction(() => {
      changeFacts(state, { approved: true })
      state.meta.delete(CHECKED)
      const { account: account_id, device: device_id } = identity
      state.events.append('session.approved', { account_id, device_id })
    })
    open = null
    return true
  }

  async function begin(asking: Asking): Promise<boolean> {
    if (await finish(asking)) return true
    const { identity, account } = asking
    requireAttempt(state, 'new', now())
    const { device } = identity
    const keys = publicKeys(await identity.keys())
    const nonce = new Uint8Array(randomBytes(32))
    const reveal = { account: identity.account, device, keys: rawKeys(keys), nonce }
    const commitment = encodeBase64url(commitmentTo(reveal))
    const until = now() + ATTEMPT_MS
    open = null
    await account.approval.begin({ body: { commitment } })
    open = { device, until, commitment, reveal, keys, bound: null, revealed: false }
    return false
  }

  /**
   * Accepts the first answer. The attempt counts from now on, because the nonce may now be sent.
   */
  function bind(run: Open, { nonce, seq, head }: Relayed): void {
    const [answer, words] = verifyRelay(() => {
      const given = { nonce: decodeBase64url(nonce), seq, head: decodeBase64url(head) }
      return [given, approvalWords(transcriptOf(run.reveal, given))] as const
    })
    countAttempt(state, 'new', now())
    run.bound = { answer, shownHere: words.newDevice, shownThere: words.oldDevice }
  }

  async function advance({ identity, account }: Asking): Promise<void> {
    const run = current(identity)
    if (run.revealed) return
    const { commitment, answer } = await account.approval.read({})
    if (commitment !== run.commitment) {
      open = null
      throw lost()
    }
    if (run.bound === null) {
      if (answer === null) return
      bind(run, answer)
    }
    const { keys } = run
    const reveal = { ...run.reveal, keys, nonce: encodeBase64url(run.reveal.nonce) }
    await account.approval.reveal({ body: { commitment, reveal } })
    run.revealed = true
  }

  async function confirm(asking: Asking, typed: string): Promise<void> {
    if (await finish(asking)) return
    const { identity, account } = asking
    const run = current(identity)
    if (run.bound === null || !run.revealed) throw notYet()
    const { answer, shownThere } = run.bound
    requireWords(typed, shownThere, OTHER_WORDS)
    const log = await fetchKeyLog(state, account, identity.account, answer)
    requireOwn(log, run, answer)
    state.transaction(() => {
      keepKeyLog(state, log)
      state.meta.set(CHECKED, encodeBase64url(log.head))
    })
    await finish(asking)
  }

  return {
    words(identity) {
      const run = live(identity)
      return run?.revealed ? (run.bound?.shownHere.join(' ') ?? null) : null
    },
    begin,
    advance,
    confirm,
  }
}
