/**
 * Creates the device that the handlers use.
 *
 * Its parts are the identity, the vault, the codes, the verifier, sync and approvals.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '../api/port.ts'
import type { SyncReport } from '../api/rest/sync.ts'
import { AppError } from '../errors.ts'
import type { Keychain } from '../keychain/backend.ts'
import type { Log } from '../log.ts'
import type { State } from '../state/state.ts'
import type { Approver } from './approval/approver.ts'
import type { Freshness } from './codes/freshness.ts'
import { type Challenges, newChallenges } from './codes/challenges.ts'
import { type ClockState, type ClockSource, requireClock, newClockWatch } from './codes/clock.ts'
import { openCodes } from './codes/codes.ts'
import { type FirstContacts, newFirstContacts } from './first-contacts/first-contacts.ts'
import { newGuesses } from './codes/rate-limit.ts'
import type { Identity } from './identity/identity.ts'
import { type InviterNames, newInviterNames } from './connections/inviter-names.ts'
import type { DeviceContext } from './context.ts'
import { type Sync, newSync } from './sync/sync.ts'
import type { Uptime } from './codes/uptime.ts'
import { openVault } from './identity/vault.ts'
import { type Verifier, newVerifier } from './codes/verifier.ts'

/** How long a response waits for a sync that it needs, in milliseconds. */
const ANSWER_MS = 3000
/** The maximum age of the last sync for showing own words without a new sync, in milliseconds. */
const FRESH_MS = 3_600_000
/** The interval between syncs while the clock is not steady, in milliseconds of uptime. */
const MEASURED_AGAIN_MS = 60_000

/** Facts about this run of the daemon. */
export interface DaemonFacts {
  readonly startedAt: number
  readonly environment: string
  /** The base URL of the account server. */
  readonly backend: () => string
  readonly keychain: Keychain['backend']
}

export interface LocalDevice extends DaemonFacts, DeviceContext {
  readonly verifier: Verifier
  readonly challenges: Challenges
  readonly sync: Sync
  readonly firstContacts: FirstContacts
  readonly inviterNames: InviterNames
  readonly freshness: Freshness
  /** Returns the approver of new devices. Its module is loaded at the first call. */
  readonly approver: () => Promise<Approver>
  /**
   * Schedules a sync if the last successful one is more than an hour old. Called before own words
   * are shown, because they may belong to an epoch that has ended.
   */
  readonly refreshForOwnWords: () => void
  /** Returns the state of the machine's clock. */
  readClock(): ClockState
  /**
   * Rejects a request for words while the clock is known to be wrong.
   * @param at Unix milliseconds
   * @throws AppError invalid_state
   */
  requireClock(at: number): void
  /**
   * Accepts the machine's clock as right, at the user's request. Only for an embedded account
   * server, because a remote server measures the clock.
   * @throws AppError invalid_state if a server measures the clock
   */
  acceptClock(): void
  /** Signs out: makes the secrets unusable and waits for the running sync. */
  leave(): Promise<void>
}

/**
 * Returns the clock offset and the time of the last successful sync. An embedded account server
 * uses this device's clock, and its data is always current.
 */
const pictureOf = (clock: ClockSource, sync: Sync, now: () => number) =>
  clock === 'own'
    ? { offsetMs: () => 0, lastSyncAt: now }
    : {
        offsetMs: () => sync.offsetMs(),
        lastSyncAt: (): number | null => {
          const at = sync.lastGoodAt()
          return at === null ? null : Date.parse(at)
        },
      }

/**
 * Creates the device.
 * @param options `clock` is the account server's clock
 */
export function openDevice(options: {
  state: State
  keychain: Keychain
  identity: Identity
  account: Account
  clock: ClockSource
  now: () => number
  uptime: Uptime
  /** The id of the machine start from which `uptime` counts; null if the system has no such id. */
  boot: string | null
  log: Log
  run: DaemonFacts
  /**
   * Schedules a sync while the daemon is serving. The trigger is `timer` if no user operation
   * caused it.
   */
  syncSoon: (trigger: SyncReport['trigger']) => void
}): LocalDevice {
  const { state, keychain, identity, account, clock, now, uptime, boot, log, syncSoon } = options
  let left = false
  const watch = newClockWatch({
    meta: state.meta,
    clock,
    uptime,
    boot,
    // An embedded account server is never out of date, so only the clock reading is checked.
    syncedAt: () => (clock === 'own' ? null : freshness.lastSyncAt()),
  })
  const vault = openVault(keychain, state.secrets)
  const codes = openCodes(state, vault, identity.account)
  function requireSession(): void {
    if (left) throw new AppError('not_signed_in', 'This device signed out meanwhile.')
  }
  const sync = newSync({ ...options, vault, codes, watch, requireSession })

  let seenState: ClockState = 'steady'
  /** The uptime at the last sync that the clock state caused, in milliseconds. */
  let askedAt = 0

  /**
   * Requests a sync if the clock is not steady, because only a sync measures the current offset.
   */
  function clockState(at: number): ClockState {
    const found = watch.state(at)
    if (clock === 'own') return found
    if (found === 'steady') seenState = found
    else if (found !== seenState || uptime.recent() - askedAt >= MEASURED_AGAIN_MS) {
      seenState = found
      askedAt = uptime.recent()
      syncSoon('timer')
    }
    return found
  }
  const picture = pictureOf(clock, sync, now)
  /**
   * When showing own words last checked the sync's age, Unix milliseconds. It is checked at most
   * hourly.
   */
  let ownWordsAt = 0
  const freshness: Freshness = {
    ...picture,
    async refresh() {
      await Promise.race([sync.run('timer'), sleep(ANSWER_MS, undefined, { ref: false })])
    },
    clock: clockState,
    noted: (at) => watch.noted(at),
  }
  const challenges = newChallenges({ state, now, uptime, boot })
  const verifier = newVerifier({
    state,
    codes,
    account: identity.account,
    now,
    freshness,
    guesses: newGuesses({ rows: state.wrongTries, uptime, boot }),
    challenges,
    requireSession,
  })
  let approver: Promise<Approver> | null = null
  const loadApprover = async (): Promise<Approver> => {
    const { newApprover } = await import('./approval/approver.ts')
    return newApprover({ identity, state, codes, vault, now, requireSession })
  }
  const firstContacts = newFirstContacts({ device: () => device, account, log })
  const device: LocalDevice = {
    ...options.run,
    now,
    state,
    identity,
    vault,
    codes,
    verifier,
    challenges,
    sync,
    firstContacts,
    inviterNames: newInviterNames({ device: () => device, now }),
    syncSoon: () => syncSoon('request'),
    freshness,
    approver: () => (approver ??= loadApprover()),
    refreshForOwnWords() {
      const at = now()
      if (Math.abs(at - ownWordsAt) < FRESH_MS) return
      ownWordsAt = at
      const synced = picture.lastSyncAt()
      if (synced === null || Math.abs(at - synced) > FRESH_MS) syncSoon('timer')
    },
    requireSession,
    readClock: () => watch.state(now()),
    requireClock: (at) => requireClock(clockState(at), clock),
    acceptClock() {
      if (clock !== 'own')
        throw new AppError(
          'invalid_state',
          'The clock of this device is checked against the account server. Run "countersignd sync" to check it.',
        )
      watch.measured(now())
    },
    async leave() {
      left = true
      vault.close()
      await firstContacts.close()
      await sync.idle()
    },
  }
  return device
}
