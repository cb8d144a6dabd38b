/**
 * Schedules the runs of a daemon: soon after the start, after a sign-in and after an operation that
 * another device answers, then every quarter of an hour, sooner after a failure. Random deviations
 * separate devices that started together. A run is a sync, and before it the sign-in of a machine
 * account by its key.
 */
import type { SyncReport } from '../api/rest/sync.ts'
import type { DeviceSession } from '../device/session/session.ts'
import type { SignInFlow } from '../device/session/sign-in-flow.ts'
import type { Log } from '../log.ts'
import { machineKeyIn } from './credential.ts'

const SOON_MS = 100
const MINUTE_MS = 60_000
const EVERY_MS = 15 * MINUTE_MS
/**
 * The first wait for the answer of another device, in milliseconds; each further one is twice as
 * long.
 */
const FOLLOW_MS = 2_000
/** The largest random deviation of a wait, as a fraction, in both directions. */
const JITTER = 0.1

export type Trigger = SyncReport['trigger']

interface SyncSchedule {
  /** Plans the first run: soon, but so that the first answer does not wait for it. */
  start(): void
  /**
   * Plans one run at once, however often this is called before it begins, and further runs at
   * growing intervals. Called after a sign-in, an approval, or an operation that another device
   * answers. Does nothing before `start`.
   * @param trigger `timer`, which no user caused, does not shorten the wait after a failure
   */
  soon(trigger: Trigger): void
  stop(): void
}

/** Determines how long to wait. */
interface Recent {
  /** How many runs failed in a row. */
  readonly failures: number
  /** How many runs there were since `soon` was last called; Infinity if it never was. */
  readonly followed: number
}

/**
 * Returns how long to wait before the next run, in milliseconds: after failures one minute, then
 * twice as long each time; after `soon` two seconds, then twice as long each time; at most a
 * quarter of an hour.
 * @param random from 0 to 1
 */
export function pauseAfter({ failures, followed }: Recent, random: number): number {
  const ms = failures === 0 ? FOLLOW_MS * 2 ** followed : MINUTE_MS * 2 ** (failures - 1)
  return Math.min(ms, EVERY_MS) * (1 - JITTER + 2 * JITTER * random)
}

/** Calls a function after so many milliseconds. Returns a function that cancels this. */
const afterMs = (ms: number, act: () => void): (() => void) => {
  const timer = setTimeout(act, ms)
  return () => clearTimeout(timer)
}

/**
 * Creates the schedule.
 * @param work does one run, does not throw, and returns whether the run succeeded
 */
export function newSyncSchedule(
  work: (trigger: Trigger) => Promise<boolean>,
  { after = afterMs, random = Math.random } = {},
): SyncSchedule {
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
        // Another run was planned meanwhile.
        if (!runs || turn !== turns) return
        plan(pauseAfter({ failures, followed }, random()), 'timer')
        followed += 1
      })
    })
  }

  function planSoon(trigger: Trigger): void {
    // If each call planned it again, it would never begin under constant load.
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

/**
 * Creates the scheduled run. It does not throw: errors are logged and are in the report of the
 * sync. If this process had a session and has none now, the user signed out, and the run does not
 * sign in again.
 * @param of `credentialsDir`: where the service manager put the key; null if no key is used
 * @returns does one run, and returns whether it succeeded
 */
export function newTurn(of: {
  credentialsDir: string | null
  seat: Pick<DeviceSession, 'identity' | 'device'>
  signIn: Pick<SignInFlow, 'machine'>
  log: Log
}): (trigger: Trigger) => Promise<boolean> {
  const { credentialsDir, seat, signIn, log } = of
  let seated = false

  async function signInByItself(): Promise<boolean> {
    try {
      const key = machineKeyIn(credentialsDir)
      if (key !== null) await signIn.machine({ key, reset: false })
      return true
    } catch (cause) {
      log('error', 'could not sign in with the key of the machine account', { cause })
      return false
    }
  }

  return async (trigger) => {
    seated ||= seat.identity() !== null
    if (!seated && !(await signInByItself())) return false
    const identity = seat.identity()
    if (identity === null) return true
    seated = true
    const device = seat.device()
    if (device !== null) {
      const { sync, firstContacts } = device
      firstContacts.wake()
      // A sync in progress lacks the changes that were made since it began.
      return (await (trigger === 'request' ? sync.runAnew(trigger) : sync.run(trigger))).ok
    }
    log('warn', 'not synced: this device waits for approval', {
      account: identity.account,
      device: identity.device,
    })
    return false
  }
}
