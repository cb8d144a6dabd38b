/**
 * When to sync without being asked: soon after the start and after a sign-in, then every quarter of an hour, sooner after a
 * failure. Many devices that started together do not stay together.
 */
import type { SyncReport } from '../api/rest/sync.ts'

const START_MS = 100
const MINUTE_MS = 60_000
const EVERY_MS = 15 * MINUTE_MS
/** How far a wait is off what it says, both ways. */
const JITTER = 0.1

export type Trigger = Exclude<SyncReport['trigger'], 'request'>

export interface Schedule {
  /** The first turn: soon, but whoever waits for the first answer need not wait for it. */
  start(): void
  /** Somebody signed in or was approved: do not wait for the next turn. Nothing before `start`. */
  soon(): void
  stop(): void
}

/** How long to wait after so many failures in a row, in milliseconds: one minute, then twice as long each time. */
export const pauseAfter = (failures: number, random: number): number =>
  (failures === 0 ? EVERY_MS : Math.min(MINUTE_MS * 2 ** (failures - 1), EVERY_MS)) *
  (1 - JITTER + 2 * JITTER * random)

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
  let runs = false
  let turns = 0
  let cancel: () => void = () => undefined

  function plan(ms: number, trigger: Trigger): void {
    cancel()
    const turn = ++turns
    cancel = after(ms, () => {
      void work(trigger).then((good) => {
        failures = good ? 0 : failures + 1
        // Another turn was planned meanwhile.
        if (runs && turn === turns) plan(pauseAfter(failures, random()), 'timer')
      })
    })
  }

  return {
    start() {
      runs = true
      plan(START_MS, 'start')
    },
    soon() {
      if (runs) plan(START_MS, 'start')
    },
    stop() {
      runs = false
      cancel()
    },
  }
}
