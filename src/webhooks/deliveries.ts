/**
 * Delivers the stored events to the webhooks: each webhook gets its events in order, one at a time,
 * and does not wait for the others.
 *
 * How far a webhook has come is stored after each delivery. So after a crash, an event that was
 * delivered may be delivered again, but none is left out.
 */
import { STREAM_EVENT } from '../api/live/catalogue.ts'
import { isChosen, isOfOrganisation } from '../api/live/event-types.ts'
import { timeAt } from '../api/fields.ts'
import type { Tokens } from '../auth/tokens.ts'
import { firstIdAt } from '../crypto/encoding/id.ts'
import type { Vault } from '../device/identity/vault.ts'
import { elapsedMs } from '../elapsed.ts'
import type { Log } from '../log.ts'
import { METRICS } from '../metrics/catalogue.ts'
import { type EventRow, type EventRows, type ShownEvent, shownEvent } from '../state/events.ts'
import type { WebhookRow, WebhookRows } from '../state/webhooks.ts'
import { type Attempted, type Network, attempt } from './attempt.ts'
import { type Settings, settingsOf } from './settings.ts'
import type { Timers } from '../runtime/timers.ts'

/** How many events are read at once. */
const BATCH = 200
/** The waits after failed attempts, in milliseconds: the first, and the longest. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [5_000, 4 * 3_600_000]
/** A wait is longer by up to this part of it, so that webhooks do not retry at the same time. */
const JITTER = 0.25
/** After this time without success, a webhook is given up, in milliseconds. */
const GIVE_UP_MS = 3 * 24 * 3_600_000
/** How long to wait if the keychain is locked or the disk is full, in milliseconds. */
const PAUSE_MS = 60_000
/** How long events that are not wanted are passed only in memory, in milliseconds. */
const STORE_MS = 60_000
/** How often it is checked whether a delivery may go on, in milliseconds. */
const CHECK_MS = 500
/** 410: the receiver wants no further events (RFC 9110 section 15.5.11). */
const GONE = 410

/** What deliveries need of the daemon. */
export interface DeliveryContext {
  readonly rows: WebhookRows
  readonly events: EventRows
  /** Runs a synchronous action in a transaction. */
  readonly transaction: <T>(action: () => T) => T
  /** Returns the vault of this device; null if no account is signed in. */
  readonly vault: () => Vault | null
  readonly tokens: Pick<Tokens, 'scopeOf'>
  readonly network: Network
  readonly timers: Timers
  readonly log: Log
  /** Called after a webhook was given up, so that a report of it is planned. */
  readonly onGivenUp: () => void
  /** Aborted when the daemon stops. */
  readonly stopping: AbortSignal
}

/** What is to be sent next: an event, and the place after it. */
interface Next {
  readonly row: WebhookRow
  readonly settings: Settings
  readonly event: ShownEvent
  readonly seq: number
}

/** The present work for a webhook. */
interface Lane {
  isRunning: boolean
  /** Cancels the timer until the next attempt; null if there is none. */
  cancel: (() => void) | null
  /** The place up to which events are not wanted, where this is not stored yet. */
  seq: number
  /** The events that were read after this place. */
  batch: readonly EventRow[]
}

/** Returns the wait after a number of failed attempts, in milliseconds. */
export function waitAfter(
  attempts: number,
  { random, retryAfterMs }: { random: number; retryAfterMs: number | null },
): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** (attempts - 1), LONGEST_WAIT_MS)
  const demanded = Math.min(retryAfterMs ?? 0, LONGEST_WAIT_MS)
  return Math.round(Math.max(wait, demanded) * (1 + JITTER * random))
}

export interface Deliveries {
  /** Begins to deliver. */
  start(): void
  /** Delivers what waits for a webhook, after it was created or changed. */
  changed(id: string): void
  /**
   * Deletes a webhook if the token that created it has ended.
   * @returns its settings; null if it was deleted or its settings cannot be read
   * @throws AppError keychain_locked
   */
  standing(id: string): Settings | null
  /** Deletes a webhook and all that belongs to it. */
  end(id: string): void
  /**
   * Makes one attempt to deliver an event. It ends as `closed` when the webhook is deleted or its
   * token ends.
   */
  attempt(id: string, settings: Settings, event: ShownEvent): Promise<Attempted>
}

/** Creates the deliveries of a daemon. Nothing is sent before `start`. */
export function newDeliveries(of: DeliveryContext): Deliveries {
  const { rows, events, vault, tokens, timers, log, stopping } = of
  const lanes = new Map<string, Lane>()
  let hasStarted = false
  let cancelStoring: (() => void) | null = null

  function end(id: string): void {
    of.transaction(() => {
      vault()?.delete(id)
      rows.delete(id)
    })
    lanes.get(id)?.cancel?.()
    lanes.delete(id)
  }

  function standing(id: string): Settings | null {
    const open = vault()
    const settings = open === null ? null : settingsOf(open, id)
    if (settings === null || settings.token === null || tokens.scopeOf(settings.token) !== null)
      return settings
    end(id)
    log('info', 'webhook ended with its token', { webhook: id, token: settings.token })
    return null
  }

  /** Returns whether a webhook gets events of a type. */
  function wants({ types, token }: Settings, type: string): boolean {
    const isWanted = types.some((one) => isChosen(one, type))
    if (!isWanted || !isOfOrganisation(type)) return isWanted
    return token === null || tokens.scopeOf(token) === 'full'
  }

  /**
   * Returns the event that takes the place of those that are no longer stored.
   * @param first the event after them
   */
  function gapBefore(first: EventRow | undefined): Pick<Next, 'event' | 'seq'> {
    const at = first?.at ?? timers.now()
    return {
      event: {
        // Each attempt has the same id, and it sorts before that of the next event.
        id: firstIdAt('evt_', at),
        type: STREAM_EVENT.gap,
        timestamp: timeAt(at),
        data: { oldest: first?.id ?? null },
      },
      seq: first === undefined ? events.last() : first.seq - 1,
    }
  }

  /** Returns the next event that a webhook gets; null if there is none. Moves past others. */
  function nextEvent(row: WebhookRow, lane: Lane, settings: Settings) {
    lane.seq = Math.max(lane.seq, row.seq)
    for (;;) {
      let batch = lane.batch.filter(({ seq }) => seq > lane.seq)
      if (batch.length === 0) batch = events.after(lane.seq, BATCH)
      lane.batch = batch
      const [first] = batch
      if (first === undefined && events.last() <= lane.seq) return null
      if (first?.seq !== lane.seq + 1) return gapBefore(first)
      const wanted = batch.find(({ type }) => wants(settings, type))
      if (wanted !== undefined) return { event: shownEvent(wanted), seq: wanted.seq }
      lane.seq = batch.at(-1)!.seq
      storeLater()
    }
  }

  /** Stores how far the webhooks have come past events that they do not want. */
  function storePlaces(): void {
    cancelStoring?.()
    cancelStoring = null
    of.transaction(() => {
      for (const [id, { seq }] of lanes) rows.move(id, seq)
    })
  }

  // Storing each place at once would cost a write to the disk for each event.
  function storeLater(): void {
    cancelStoring ??= timers.after(STORE_MS, () => guarded(storePlaces))
  }

  /** Runs an action that fails if the keychain is locked or the disk is full. */
  function guarded(action: () => void): void {
    try {
      action()
    } catch (cause) {
      log('error', 'could not read or store webhooks', { cause })
    }
  }

  function waitFor(id: string, lane: Lane, ms: number): void {
    lane.cancel?.()
    lane.cancel = timers.after(ms, () => {
      lane.cancel = null
      run(id)
    })
  }

  /** Returns what to send to a webhook now; null if there is nothing, or not yet. */
  function take(id: string, lane: Lane): Next | null {
    const row = rows.get(id)
    if (row === null) {
      lanes.delete(id)
      return null
    }
    if (row.state !== 'active') return null
    const settings = standing(id)
    if (settings === null) return null
    const wait = (row.next_at ?? 0) - timers.now()
    // A longer wait means that the clock was set back.
    if (wait > 0 && wait <= LONGEST_WAIT_MS * (1 + JITTER)) {
      waitFor(id, lane, wait)
      return null
    }
    const next = nextEvent(row, lane, settings)
    return next === null ? null : { row, settings, ...next }
  }

  async function attemptWhileStanding(
    id: string,
    settings: Settings,
    event: ShownEvent,
  ): Promise<Attempted> {
    const ending = new AbortController()
    const checkLater = (): (() => void) =>
      timers.after(CHECK_MS, () => {
        guarded(() => {
          if (rows.get(id) === null || standing(id) === null) ending.abort()
        })
        cancel = checkLater()
      })
    let cancel = checkLater()
    try {
      const signal = AbortSignal.any([stopping, ending.signal])
      const from = elapsedMs()
      const outcome = await attempt(settings, event, { ...of, signal })
      if (!signal.aborted) {
        METRICS.webhookAttempts.add({ result: outcome.delivered ? 'delivered' : 'failed' })
        METRICS.webhookDuration.observe(METRICS.webhookDuration.at({}), elapsedMs() - from)
      }
      return outcome
    } finally {
      cancel()
    }
  }

  /** Stores the outcome of an attempt. */
  function store(id: string, { event, seq, row }: Next, outcome: Attempted): void {
    const at = timers.now()
    const { delivered, status, error } = outcome
    const base = { event: event.id, type: event.type, status, error, last_at: at }
    if (delivered) {
      of.transaction(() => {
        rows.delivered(id, seq)
        rows.record(id, { ...base, state: 'delivered', next_at: null })
      })
      return
    }
    const since = Math.min(row.failing_since ?? at, at)
    const attempts = row.attempts + 1
    if (status === GONE || at - since >= GIVE_UP_MS) {
      of.transaction(() => {
        rows.failed(id, { attempts, failing_since: since, next_at: null })
        rows.giveUp(id, events.append('webhook.given_up', { webhook_id: id, name: row.name }))
        rows.record(id, { ...base, state: 'failed', next_at: null })
      })
      log('warn', 'webhook given up', { webhook: id, event_id: event.id, attempts, status, error })
      of.onGivenUp()
      return
    }
    const { retryAfterMs } = outcome
    const wait = waitAfter(attempts, { random: timers.random(), retryAfterMs })
    // The last attempt is at the end of the time.
    const next_at = Math.min(at + wait, since + GIVE_UP_MS)
    of.transaction(() => {
      rows.failed(id, { attempts, failing_since: since, next_at })
      rows.record(id, { ...base, state: 'waiting', next_at })
    })
    log('debug', 'webhook not delivered', {
      webhook: id,
      event_id: event.id,
      attempts,
      status,
      error,
    })
  }

  /** Delivers to a webhook until nothing is left, or until a delivery has to wait. */
  async function work(id: string, lane: Lane): Promise<void> {
    for (;;) {
      const next = stopping.aborted ? null : take(id, lane)
      if (next === null) {
        lane.isRunning = false
        return
      }
      const outcome = await attemptWhileStanding(id, next.settings, next.event)
      if (stopping.aborted) return
      // The webhook may have been deleted or changed meanwhile.
      const row = rows.get(id)
      if (row === null || row.seq !== next.row.seq) continue
      if (row.state === 'active' || outcome.delivered) store(id, { ...next, row }, outcome)
    }
  }

  function run(id: string): void {
    if (!hasStarted || stopping.aborted) return
    const lane = lanes.get(id) ?? { isRunning: false, cancel: null, seq: 0, batch: [] }
    lanes.set(id, lane)
    if (lane.isRunning || lane.cancel !== null) return
    lane.isRunning = true
    work(id, lane).catch((cause: unknown) => {
      lane.isRunning = false
      log('error', 'could not deliver to a webhook', { webhook: id, cause })
      if (lanes.get(id) === lane && !stopping.aborted) waitFor(id, lane, PAUSE_MS)
    })
  }

  function runAll(): void {
    for (const { id } of rows.all()) {
      // A webhook that waits ends with its token, too.
      if (lanes.get(id)?.cancel != null) guarded(() => void standing(id))
      run(id)
    }
  }

  return {
    start() {
      if (hasStarted || stopping.aborted) return
      hasStarted = true
      const ignore = events.onAdded(() => guarded(runAll))
      stopping.addEventListener(
        'abort',
        () => {
          ignore()
          for (const { cancel } of lanes.values()) cancel?.()
          if (cancelStoring !== null) guarded(storePlaces)
        },
        { once: true },
      )
      guarded(runAll)
    },
    changed(id) {
      const lane = lanes.get(id)
      lane?.cancel?.()
      if (lane !== undefined) lane.cancel = null
      run(id)
    },
    standing,
    end,
    attempt: attemptWhileStanding,
  }
}
