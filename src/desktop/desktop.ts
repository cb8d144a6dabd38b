/**
 * Shows a notification on the desktop for each event that needs a person.
 *
 * Each subject has one notification at a time: further events of a subject replace it and count. So
 * a storm of events becomes one notification for each subject, which changes at most once in a
 * while.
 */
import type { EventData, EventType } from '../api/live/catalogue.ts'
import type { Log } from '../log.ts'
import { NO_SESSION_BUS } from '../runtime/session-bus.ts'
import type { EventRows } from '../state/events.ts'
import type { Timers } from '../runtime/timers.ts'
import { type Bus, openBus } from './bus.ts'
import { type Bubble, showBubble } from './service.ts'
import { type Names, SUBJECTS, type DesktopSubject } from './subjects.ts'

/** How many events are read at once. */
const BATCH = 200
/** How long events are gathered before the first one is shown, in milliseconds. */
const GATHER_MS = 500
/** The time between two rounds of notifications, in milliseconds. */
const PACE_MS = 30_000
/** The longest wait after failures, in milliseconds. Each one doubles the wait. */
const LONGEST_WAIT_MS = 600_000
/** How long a notification is replaced by the next one of its subject, in milliseconds. */
const SAME_MS = 600_000

/** The events of a subject that a person has not seen. */
interface Unseen {
  readonly count: number
  /** The newest one. */
  readonly data: EventData<EventType>
}

interface Shown {
  readonly id: number
  readonly count: number
  /** Unix milliseconds. */
  readonly at: number
}

/** What notifications need of the daemon. */
export interface DesktopContext {
  readonly events: EventRows
  readonly names: Names
  /** Returns the addresses of the session bus; null if there is none. */
  readonly address: () => string | null
  readonly timers: Timers
  readonly log: Log
}

/** Shows the events from now on. Returns a function that ends this. */
export function followForDesktop(of: DesktopContext): () => void {
  const { events, names, timers, log } = of
  let seq = events.last()
  const unseen = new Map<DesktopSubject, Unseen>()
  const shown = new Map<DesktopSubject, Shown>()
  let bus: Bus | null = null
  let failures = 0
  let isShowing = false
  let hasEnded = false
  let cancel: (() => void) | null = null

  /** Logs the first of several failures. */
  function failed(cause: unknown): void {
    failures++
    if (hasEnded || failures > 1) return
    const reason = cause instanceof Error ? cause.message : String(cause)
    log('warn', 'desktop notifications cannot be shown', {
      reason,
      remedy: 'They are shown later if that is possible. "countersignd doctor" checks it.',
    })
  }

  function add(type: EventType, data: EventData<EventType>): void {
    // Nothing of an account may be shown after its end.
    if (type === 'session.ended') {
      unseen.clear()
      shown.clear()
    }
    const subject = SUBJECTS.find(
      (one) => one.type === type && one.needsPerson?.(data, names) !== false,
    )
    if (subject !== undefined)
      unseen.set(subject, { count: (unseen.get(subject)?.count ?? 0) + 1, data })
  }

  function read(): void {
    for (;;) {
      const batch = events.after(seq, BATCH)
      for (const { type, data } of batch) add(type, data as EventData<EventType>)
      seq = batch.at(-1)?.seq ?? seq
      if (batch.length < BATCH) return
    }
  }

  /** Returns what one event is about; an empty text if that is not known. */
  async function aboutOf({ about }: DesktopSubject, data: EventData<EventType>): Promise<string> {
    try {
      return (await about?.(data, names)) ?? ''
    } catch {
      // The account server does not answer. The event needs a person nevertheless.
      return ''
    }
  }

  async function bubbleOf(
    subject: DesktopSubject,
    count: number,
    data: Unseen['data'],
  ): Promise<Bubble> {
    const { one, many, advice } = subject
    if (count > 1) return { summary: many(count), body: advice }
    const about = await aboutOf(subject, data)
    return { summary: one, body: about === '' ? advice : `${about}\n${advice}` }
  }

  async function openedBus(): Promise<Bus> {
    if (bus?.isOpen() === true) return bus
    // A service of another session does not have the notifications of this one.
    shown.clear()
    const address = of.address()
    if (address === null) throw new Error(NO_SESSION_BUS)
    bus = await openBus(address)
    if (hasEnded) bus.close()
    return bus
  }

  async function show(subject: DesktopSubject, { count, data }: Unseen): Promise<void> {
    const open = await openedBus()
    const before = shown.get(subject)
    const same = before !== undefined && timers.now() - before.at < SAME_MS ? before : null
    const total = count + (same?.count ?? 0)
    const bubble = await bubbleOf(subject, total, data)
    // A sign-out may have ended the account meanwhile.
    read()
    if (!unseen.has(subject)) return
    const id = await showBubble(open, bubble, same?.id ?? 0)
    const left = (unseen.get(subject)?.count ?? 0) - count
    if (left > 0) unseen.set(subject, { ...unseen.get(subject)!, count: left })
    else unseen.delete(subject)
    shown.set(subject, { id, count: total, at: timers.now() })
  }

  async function round(): Promise<void> {
    if (isShowing || hasEnded || cancel !== null || unseen.size === 0) return
    isShowing = true
    try {
      // What is added during a round waits for the next one.
      const waiting = Array.from(unseen)
      for (const [subject, one] of waiting) await show(subject, one)
      if (failures > 0) log('info', 'desktop notifications are shown')
      failures = 0
    } catch (cause) {
      failed(cause)
    } finally {
      isShowing = false
    }
    if (!hasEnded) wait(Math.min(PACE_MS * 2 ** failures, LONGEST_WAIT_MS))
  }

  function wait(ms: number): void {
    cancel = timers.after(ms, () => {
      cancel = null
      readAndShow()
    })
  }

  function readAndShow(): void {
    try {
      read()
    } catch (cause) {
      log('error', 'could not read the events', { cause })
    }
    void round()
  }

  const ignore = events.onAdded(readAndShow, GATHER_MS)
  if (of.address() === null) failed(new Error(NO_SESSION_BUS))
  return () => {
    hasEnded = true
    ignore()
    cancel?.()
    bus?.close()
  }
}
