/**
 * Keeps a stream of hints from the account server open (`api/device/hints.ts`), so that this device
 * syncs as soon as something changes for it.
 *
 * A hint only causes a sync, which asks what changed and verifies it as usual. A false hint
 * therefore costs one request, and their number is limited by the schedule of syncs. While there is
 * no stream, the device syncs as often as without hints.
 */
import { newEventReader } from '../../api/event-stream.ts'
import { timeAt } from '../../api/fields.ts'
import { HINT_EVENT } from '../../api/device/hints.ts'
import type { Account } from '../../api/port.ts'
import type { StreamState } from '../../api/rest/status.ts'
import { AppError, toAppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { afterMs } from './delay.ts'

/** The shortest and the longest wait before another attempt, in milliseconds. */
const [FIRST_MS, LONGEST_MS] = [1_000, 300_000]
/** The wait before the server is asked again whether it has hints, if it is too old for them. */
const OLD_MS = 3_600_000
/** After this time of an open stream, the waits begin anew, in milliseconds. */
const STABLE_MS = 30_000
/**
 * The age at which a stream is replaced by a new one, in milliseconds. It is shorter than the life
 * of an access token.
 */
const LIFE_MS = 3_000_000
/**
 * How long a stream may take until its first event, in milliseconds. A server could otherwise keep
 * it without that event, and the status would have no reason.
 */
const OPENING_MS = 60_000
/** How much a stream's life varies, so that devices that began together do not renew together. */
const JITTER = 0.1

export interface HintFollower {
  /**
   * Opens the stream, if this device has an account and no stream. The wait after a failure stays,
   * unless the device has another session since.
   */
  start(): void
  /** Ends the stream. */
  stop(): void
  /** Returns the state for `status`. */
  state(): StreamState
  /** Whether hints arrive. */
  isOpen(): boolean
}

/** The reason if the account server closed the stream without an error, as at its shutdown. */
const CLOSED = 'The account server closed the stream of changes.'
const notOpened = () =>
  new AppError('backend_timeout', 'The account server did not open the stream of changes in time.')

interface Reading {
  /** Ends the stream. */
  leave: () => void
}

/**
 * Creates the stream, which is not open yet.
 * @param of `account` returns the account of this device, or null while it has none; `onHint` is
 *   called for each hint, and when the stream opens; `now` returns Unix milliseconds
 */
export function newHintFollower(of: {
  readonly account: () => Account | null
  readonly onHint: () => void
  readonly now: () => number
  readonly log: Log
  readonly after?: typeof afterMs
  readonly random?: () => number
}): HintFollower {
  const { account, onHint, now, log, after = afterMs, random = Math.random } = of
  let isRunning = false
  /** The stream that is open; null if there is none. */
  let live: Reading | null = null
  /** The stream that is being opened; null if there is none. */
  let next: Reading | null = null
  /** When a stream opened after a time without one, Unix milliseconds. */
  let openedAt = 0
  /** Since when there is no stream, and why. */
  let without: { readonly since: number; readonly reason: string | null } = {
    since: now(),
    reason: null,
  }
  let failures = 0
  /** Whether another attempt is planned after a failure. */
  let isWaiting = false
  /** The account of the last attempt; another session has another one. */
  let tried: Account | null = null
  let cancel: () => void = () => undefined
  /** Ends the wait for the first event of `next`. */
  let cancelOpening: () => void = () => undefined

  /** A stream has opened. The one before it, which it replaces, missed nothing until now. */
  function opened(reading: Reading): void {
    const before = live
    live = reading
    next = null
    before?.leave()
    cancelOpening()
    cancel()
    cancel = after(LIFE_MS * (1 - JITTER * random()), begin)
    if (before !== null) return
    log('info', 'changes arrive by a stream')
    openedAt = now()
    onHint()
  }

  /** A stream has ended, or could not be opened. */
  function ended(reading: Reading, error: AppError | null): void {
    if (reading === live) {
      log('info', 'the stream of changes ended', error === null ? {} : { cause: error })
      if (now() - openedAt >= STABLE_MS) failures = 0
      without = { since: now(), reason: error?.message ?? CLOSED }
      live = null
    } else if (reading === next) {
      without = { ...without, reason: error?.message ?? CLOSED }
      next = null
      cancelOpening()
    } else return
    if (!isRunning || next !== null) return
    const isOld = error?.code === 'no_such_route'
    const ms = isOld ? OLD_MS : Math.min(FIRST_MS * 2 ** failures, LONGEST_MS)
    failures += 1
    cancel()
    cancel = after(ms * (0.5 + random()), begin)
    isWaiting = true
  }

  /** Reads a stream to its end. */
  async function read(from: Account, reading: Reading): Promise<void> {
    const { body } = await from.hints.follow({})
    if (typeof body === 'string' || body instanceof Uint8Array)
      throw new AppError('backend_error', 'The account server sent no stream of hints.')
    const bytes = body[Symbol.asyncIterator]()
    reading.leave = () => void bytes.return?.()
    if (!isRunning || reading !== next) return reading.leave()
    const events = newEventReader()
    for (;;) {
      const { done, value } = await bytes.next()
      if (done === true) return
      for (const { name } of events(value)) {
        if (name === HINT_EVENT.open && reading === next) opened(reading)
        else if (name === HINT_EVENT.changed && reading === live) onHint()
      }
    }
  }

  function begin(): void {
    if (!isRunning || next !== null) return
    isWaiting = false
    const from = account()
    if (from === null) return
    tried = from
    cancel()
    const reading: Reading = { leave: () => undefined }
    next = reading
    cancelOpening = after(OPENING_MS, () => {
      reading.leave()
      ended(reading, notOpened())
    })
    void read(from, reading).then(
      () => ended(reading, null),
      (cause: unknown) => ended(reading, toAppError(cause)),
    )
  }

  return {
    start() {
      isRunning = true
      if (live !== null) return
      // Called after each sync. A stream that opens causes a sync, so a server that ends it at once
      // would otherwise get the next request without a wait.
      if (isWaiting && account() === tried) return
      failures = 0
      begin()
    },
    stop() {
      isRunning = false
      isWaiting = false
      cancel()
      cancelOpening()
      live?.leave()
      next?.leave()
    },
    isOpen: () => live !== null,
    state: () =>
      live === null
        ? { state: 'closed', since: timeAt(without.since), reason: without.reason }
        : { state: 'open', since: timeAt(openedAt), reason: null },
  }
}
