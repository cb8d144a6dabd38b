/**
 * When to sync without being asked: soon after the start, after a sign-in and after what another
 * device answers, then every quarter of an hour, sooner after a failure. Many devices that started
 * together do not stay together.
 */
import type { SyncReport } from '../api/rest/sync.ts'

const SOON_MS = 100
const MINUTE_MS = 60_000
const EVERY_MS = 15 * MINUTE_MS
/** The first wait for the answer of another device; each further one is twice as long. */
const FOLLOW_MS = 2_000
/** How far a wait is off what it says, both ways. */
const JITTER = 0.1

export type Trigger = SyncReport['trigger']

export interface Schedule {
  /** The first turn: soon, but whoever waits for the first answer need not wait for it. */
  start(): void
  /**
   * Somebody signed in or was approved, or did what another device answers: one turn at once,
   * however often this is called until it begins, and further ones at growing distances. Nothing
   * before `start`.
   * @param trigger with `timer`, which is nobody's act, the wait after a failure stays as it is
   */
  soon(trigger: Trigger): void
  stop(): void
}

/** What decides how long to wait. */
export interface Recent {
  /** Turns that failed in a row. */
  readonly failures: number
  /** Turns since `soon` was last called; Infinity where it never was. */
  readonly followed: number
}

/**
 * How long to wait before the next turn, in milliseconds: after failures one minute, then twice as
 * long each time; after `soon` two seconds, then twice as long each time; a quarter of an hour at
 * most.
 * @param random from 0 to 1
 */
export function pauseAfter({ failures, followed }: Recent, random: number): number {
  const ms = failures === 0 ? FOLLOW_MS * 2 ** followed : MINUTE_MS * 2 ** (failures - 1)
  return Math.min(ms, EVERY_MS) * (1 - JITTER + 2 * JITTER * random)
}

/** Call back after so many milliseconds; gives back what takes that back. */
const afterMs = (ms: number, act: () => void): (() => void) => {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

/**
 * Make the schedule.
 * @param work one turn, which does not throw; whether it went well
 */
export function newSchedule(
  work: (trigger: Trigger) => Promise<boolean>,
  { after = afterMs, random = Math.random } = {},
): Schedule {
  let failures = 0
  let followed = Infinity
  let runs = false
  let turns = 0
  let isSoon = false
  let cancel: () => void = () => undefined

  function plan(ms: number, trigger: Trigger): void {
    cancel()
    const turn = ++turns
    cancel = after(ms, () => {
      isSoon = false
      void work(trigger).then((good) => {
        failures = good ? 0 : failures + 1
        // Another turn was planned meanwhile.
        if (!runs || turn !== turns) return
        plan(pauseAfter({ failures, followed }, random()), 'timer')
        followed += 1
      })
    })
  }

  function planSoon(trigger: Trigger): void {
    // Planned anew each time, it would never begin while there is a lot to do.
    if (isSoon) return
    isSoon = true
    plan(SOON_MS, trigger)
  }

  return {
    start() {
      runs = true
      planSoon('start')
    },
    soon(trigger) {
      if (!runs || (trigger === 'timer' && failures > 0)) return
      followed = 0
      planSoon(trigger)
    },
    stop() {
      runs = false
      cancel()
    },
  }
}
