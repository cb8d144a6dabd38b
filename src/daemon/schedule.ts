/**
 * Schedules the daemon's syncs. A run takes place soon after the start, after a sign-in, after an
 * operation that another device responds to, and after a hint from the account server. Other runs
 * follow every 15 minutes, or every 45 while hints arrive, or sooner after a failure. The intervals
 * vary randomly, so that devices that started together do not sync together. A run is one sync; a
 * machine account that is not signed in first signs in with its key.
 */
import type { SyncReport } from '../api/rest/sync.ts'
import type { DeviceSession } from '../device/session/session.ts'
import type { SignInFlow } from '../device/session/sign-in-flow.ts'
import { afterMs } from '../device/sync/delay.ts'
import type { Log } from '../log.ts'
import { machineKeyIn } from './credential.ts'

const SOON_MS = 100
const MINUTE_MS = 60_000
const EVERY_MS = 15 * MINUTE_MS
/** The interval of runs while the account server reports changes by hints, in milliseconds. */
const EVERY_WITH_HINTS_MS = 45 * MINUTE_MS
/** How long hints are gathered for one run, in milliseconds. */
const HINT_MS = 50
/**
 * How many runs hints may cause in a row, and the time after which they may cause another one, in
 * milliseconds. A dishonest account server cannot cause more.
 */
const HINTED = 60
const HINTED_EVERY_MS = 1_000
/**
 * The first wait for another device's response, in milliseconds. Each following wait is twice as
 * long.
 */
const FOLLOW_MS = 2_000
/** How much a wait varies randomly: up to this fraction longer or shorter. */
const JITTER = 0.1

export type Trigger = SyncReport['trigger']

interface SyncSchedule {
  /** Plans the first run. It begins soon, but late enough not to delay the first API response. */
  start(): void
  /**
   * Plans a run soon, and then further runs at growing intervals. Further calls before that run
   * begins have no effect. Called after a sign-in, an approval, or an operation that another device
   * responds to. Does nothing before `start`.
   * @param trigger a `timer`, which no user caused, is ignored while the wait after a failure lasts
   */
  soon(trigger: Trigger): void
  /** Plans a run after a hint. Further hints before that run begins have no effect. */
  hinted(): void
  /** Returns when the planned run begins, Unix milliseconds; null if none is planned. */
  nextAt(): number | null
  stop(): void
}

/** The recent runs, from which the next wait is computed. */
interface Recent {
  /** How many runs failed in a row. */
  readonly failures: number
  /**
   * How many runs were planned since the last call of `soon`; Infinity if `soon` was never called.
   */
  readonly followed: number
  /** Whether the account server reports changes by hints. */
  readonly hasHints: boolean
}

/**
 * Returns how long to wait before the next run, in milliseconds. The wait is one minute after a
 * failure and two seconds after `soon`, and doubles with each run, up to 15 minutes. While hints
 * arrive, it is 45 minutes after each run that succeeded. It varies randomly by `JITTER`.
 * @param random from 0 to 1
 */
export function pauseAfter({ failures, followed, hasHints }: Recent, random: number): number {
  const ms =
    failures > 0
      ? Math.min(MINUTE_MS * 2 ** (failures - 1), EVERY_MS)
      : hasHints
        ? EVERY_WITH_HINTS_MS
        : Math.min(FOLLOW_MS * 2 ** followed, EVERY_MS)
  return ms * (1 - JITTER + 2 * JITTER * random)
}

/**
 * Creates the schedule.
 * @param work does one run, and returns whether it succeeded. It must not throw.
 * @param hasHints returns whether the account server reports changes by hints
 */
export function newSyncSchedule(
  work: (trigger: Trigger) => Promise<boolean>,
  hasHints: () => boolean,
  { after = afterMs, random = Math.random, now = Date.now } = {},
): SyncSchedule {
  let failures = 0
  let followed = Infinity
  let runs = false
  let turns = 0
  let isSoon = false
  let isHinted = false
  /** How many runs hints may cause now. */
  let credit = HINTED
  let creditAt = now()
  let cancel: () => void = () => undefined
  let nextAt: number | null = null

  function plan(ms: number, trigger: Trigger): void {
    cancel()
    const turn = ++turns
    nextAt = now() + ms
    cancel = after(ms, () => {
      nextAt = null
      isSoon = false
      isHinted = false
      void work(trigger).then((good) => {
        failures = good ? 0 : failures + 1
        // Another run was planned while this one was in progress.
        if (!runs || turn !== turns) return
        plan(pauseAfter({ failures, followed, hasHints: hasHints() }, random()), 'timer')
        followed += 1
      })
    })
  }

  function planSoon(trigger: Trigger): void {
    // If each call restarted the timer, the run would never begin under constant load.
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
    hinted() {
      if (!runs || isSoon || isHinted) return
      isHinted = true
      const elapsed = Math.max(0, now() - creditAt)
      credit = Math.min(HINTED, credit + elapsed / HINTED_EVERY_MS)
      creditAt = now()
      plan(Math.max(HINT_MS, (1 - credit) * HINTED_EVERY_MS), 'hint')
      credit -= 1
    },
    nextAt: () => nextAt,
    stop() {
      runs = false
      nextAt = null
      cancel()
    },
  }
}

/**
 * Returns the function that does one scheduled run. It does not throw: errors are logged, and are
 * in the sync report. If this process had a session earlier and has none now, the user signed out,
 * so the run does not sign in again.
 * @param of `credentialsDir`: the folder with the machine account's key; null if no key is used
 * @returns does one run, and returns whether it succeeded
 */
export function newTurn(of: {
  credentialsDir: string | null
  deviceSession: Pick<DeviceSession, 'identity' | 'device'>
  signIn: Pick<SignInFlow, 'machine'>
  log: Log
}): (trigger: Trigger) => Promise<boolean> {
  const { credentialsDir, deviceSession, signIn, log } = of
  let hasIdentity = false

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
    hasIdentity ||= deviceSession.identity() !== null
    if (!hasIdentity && !(await signInByItself())) return false
    const identity = deviceSession.identity()
    if (identity === null) return true
    hasIdentity = true
    const device = deviceSession.device()
    if (device !== null) {
      const { sync, firstContacts } = device
      firstContacts.wake()
      // A sync that is already in progress does not include changes made since it began, so a
      // request or a hint needs a new sync.
      const isNews = trigger === 'request' || trigger === 'hint'
      return (await (isNews ? sync.runAnew(trigger) : sync.run(trigger))).ok
    }
    log('warn', 'not synced: this device waits for approval', {
      account: identity.account,
      device: identity.device,
    })
    return false
  }
}
