/**
 * Sync: bring this device's picture of the account up to date, hand over what was made while the
 * server was away, and do what others wait for. One run at a time: the schedule joins the run under
 * way, a request gets a run of its own after it. The report says what was done. What the person
 * does meanwhile stands: a run writes nothing over it, and the next run sees both.
 */
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import type { SyncReport } from '../../api/rest/sync.ts'
import { PREFIX, isId, parseId } from '../../crypto/encoding/id.ts'
import { AppError, toAppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { State } from '../../state/state.ts'
import { type ClockWatch, type ServerClock, measureOffset } from '../codes/clock.ts'
import type { Codes } from '../codes/codes.ts'
import type { Identity } from '../identity/identity.ts'
import { copyWarning } from '../identity/copied-keys.ts'
import { newDuties } from './pending-work.ts'
import { dropOldKeys } from '../codes/former-keys.ts'
import { dropOpening } from '../logs/openings.ts'
import { followCode, isActive } from '../codes/public-code.ts'
import { ENDING, runEach } from '../parts.ts'
import { complain, newPull, remark } from './pull.ts'
import { newPush } from './push.ts'
import { recoveryLook } from '../trust/recovery-notice.ts'
import { newRotationWaits } from '../logs/rotation-waits.ts'
import { deleteOldHalves, isRenewalDue } from './seal-schedule.ts'
import { refreshTrust } from '../trust/trust.ts'
import type { Vault } from '../identity/vault.ts'

const REPORT = 'last_sync'
const GOOD = 'last_good_sync'
const OFFSET = 'clock_offset_ms'
/** A secret is kept before the account hears of what it is for: one that is younger may be about to be used. */
const ORPHAN_MS = 24 * 3600 * 1000

const CLOCK_BEHIND =
  'The clock of this machine is behind what it showed before, so no words verify. Set it right. Where it is right now, and was ahead before: "countersignd sync --clock-is-right".'

const RENEWED =
  'This device was restored from a backup that was made before its sealing key was renewed, and has renewed it again.'

/** As a limit of rows. */
const ALL = -1

type Trigger = SyncReport['trigger']

export interface Sync {
  /** What the last run did, or null before the first ended. */
  last(): SyncReport | null
  /** When the last run ended that went well, or null before the first. */
  lastGoodAt(): string | null
  /** The server's clock minus this one's in milliseconds, as last measured; null before. */
  offsetMs(): number | null
  /** What the person should know when the last run found that this device is signed in no more; else null. */
  refused(): string | null
  /** Run, or join the run under way. Never throws: a failure stands in the report. */
  run(trigger: Trigger): Promise<SyncReport>
  /** The error behind a report of `run` that is not `ok`; null for one that is. */
  failureOf(report: SyncReport): AppError | null
  /**
   * Run once more after the run under way, which may have passed already what changed since. All
   * that ask while it lasts share that one run. Never throws.
   */
  runAnew(trigger: Trigger): Promise<SyncReport>
  /** The person renamed, revoked or deleted this here: what a run under way was told of it is out of date. */
  changed(id: string): void
  /** Ends when no run is under way. */
  idle(): Promise<void>
  /**
   * Hand over what was made here, and nothing else, after the run under way. Never throws.
   * @returns how much the account server still does not have
   */
  handOver(): Promise<Unpushed>
}

/** What is here alone. */
export interface Unpushed {
  readonly verifications: number
  readonly stamps: number
}

/** When a connection or a guest code was made, as its id says: Unix milliseconds (RFC 9562 section 5.7). */
function madeAt(id: string): number | null {
  const prefix = [PREFIX.connection, PREFIX.guest].find((one) => isId(one, id))
  return prefix === undefined ? null : Buffer.from(parseId(prefix, id)).readUIntBE(0, 6)
}

export function newSync(options: {
  state: State
  vault: Vault
  codes: Codes
  identity: Identity
  account: Account
  clock: ServerClock
  watch: ClockWatch
  now: () => number
  log: Log
  demandSeat: () => void
  syncSoon: (trigger: Trigger) => void
}): Sync {
  const { state, vault, identity, account, clock, watch, now, log, syncSoon } = options
  /** What the person changed since the run under way began. */
  const touched = new Set<string>()
  let refused: string | null = null
  const failures = new WeakMap<SyncReport, AppError>()

  const pull = newPull({ ...options, touched })
  const push = newPush({ state, account, identity })
  const waits = newRotationWaits({ now, wake: () => syncSoon('timer') })
  const duties = newDuties({ device: options, account, waits, log })

  /** A crash, or a server that never answered, leaves a secret without what it was made for. */
  function dropOrphans() {
    for (const id of state.secrets.ids()) {
      if (state.connections.get(id) !== null || state.guests.get(id) !== null) continue
      const made = madeAt(id)
      if (made === null || made >= now() - ORPHAN_MS || touched.has(id)) continue
      vault.delete(id)
      dropOpening(state, id)
    }
  }

  async function readClock(report: SyncReport): Promise<void> {
    if (clock !== 'own') {
      const offset = await measureOffset(clock, now)
      state.transaction(() => {
        state.meta.set(OFFSET, offset)
        watch.measured(now())
      })
    } else if (watch.state(now()) === 'behind') remark(report, CLOCK_BEHIND)
  }

  async function renewSealKey(report: SyncReport): Promise<void> {
    if (!isRenewalDue(options)) return
    const { renewIfDue } = await import('./seal-renewal.ts')
    if (await renewIfDue(options, account)) remark(report, RENEWED)
  }

  function warnOfCopy(report: SyncReport): void {
    const warning = copyWarning(state)
    if (warning === null) return
    log('error', 'another copy of the keys of this device is at work', { device: identity.device })
    remark(report, warning)
  }

  /** Where the own key log has grown, looks for a recovery key that another device set. */
  async function noticeRecoveryKey(): Promise<void> {
    const before = recoveryLook(state)
    if (before?.seq === state.logs.head('keylog', identity.account)?.seq) return
    const { lookForRecoveryKey } = await import('../trust/recovery-key.ts')
    const lastGood = state.meta.get(GOOD) as string | null
    const since = lastGood === null ? 0 : Date.parse(lastGood)
    const set = await lookForRecoveryKey(options, account, since)
    if (set === null || set.key === before?.set?.key) return
    log('warn', 'another device set a recovery key', { device: set.device })
  }

  /** Work on the own sealing keys. Where it fails, the rest of the sync goes on. */
  async function keepSealing(report: SyncReport, part: () => void | Promise<void>): Promise<void> {
    try {
      await part()
    } catch (error) {
      const { code, message } = toAppError(error)
      if (ENDING.includes(code)) throw error
      log('warn', 'sealing keys not kept up to date', { cause: error })
      remark(report, `The sealing key of this device: ${message}`)
    }
  }

  async function work(report: SyncReport): Promise<void> {
    // Taken before the server is asked: what is made while it answers is not in its answer, and is no leftover.
    const connections = new Set(state.connections.ids())
    const guests = new Set(state.guests.all().map(({ id }) => id))
    // Also where the account server is away for longer than they may be kept.
    dropOldKeys(options, now())
    // First of all: what is verified here while the rest fails must know whether the time is right.
    await readClock(report)
    const ownLog = await pull.ownLog(report)
    if (ownLog.isKnown) await noticeRecoveryKey()
    if (ownLog.isKnown) await pull.ownName(ownLog.profile)
    // Before envelopes are opened: one that cannot be is deleted, and sealed anew to the newest key.
    if (ownLog.isKnown) await keepSealing(report, () => renewSealKey(report))
    warnOfCopy(report)
    await pull.declined()
    await pull.connections(connections, report)
    await keepSealing(report, () => deleteOldHalves(options))
    await pull.guestCodes(guests, report)
    // Whoever has it here may have it switched off elsewhere, or ended by a revocation.
    if (isActive(options)) await followCode(options, account)
    // An older account server refuses entries that it does not know: rotations must not wait for
    // it.
    await runEach(
      [
        () => push.verifications(report),
        // A server without the log that stamps name refuses good ones: they wait until it has it
        // again.
        async () => {
          if (ownLog.isKnown) await push.stamps(report)
        },
        () => duties(report),
      ],
      (cause) => log('warn', 'part of a sync failed', { cause }),
    )
    // On the account server's word alone nobody is unfollowed: their keys may be what it would like to change.
    for (const id of await refreshTrust(options, account))
      remark(
        report,
        `${id} is followed on this device, and the account server lists them no more. If you unfollowed them on another device, do so here as well ("countersignd trust unfollow ${id}").`,
      )
    if (report.ok) dropOrphans()
  }

  const newReport = (trigger: Trigger): SyncReport => ({
    started_at: timeAt(now()),
    finished_at: '',
    ok: true,
    trigger,
    pulled: { connections: 0, secrets: 0, guest_codes: 0, rosters: 0 },
    pushed: { verifications: 0, envelopes: 0 },
    error: null,
  })

  async function run(trigger: Trigger): Promise<SyncReport> {
    const report = newReport(trigger)
    touched.clear()
    refused = null
    try {
      await work(report)
    } catch (error) {
      const told = toAppError(error)
      if (told.code === 'not_signed_in') refused = told.message
      log(told.code === 'internal' ? 'error' : 'warn', 'sync failed', {
        trigger,
        cause: told.cause ?? told,
      })
      complain(report, told.message)
      failures.set(report, told)
    }
    report.finished_at = timeAt(now())
    keep(report)
    return report
  }

  function keep(report: SyncReport): void {
    try {
      state.transaction(() => {
        state.meta.set(REPORT, report)
        watch.noted(now())
        if (report.ok) state.meta.set(GOOD, report.finished_at)
      })
    } catch (cause) {
      log('error', 'sync report not kept', { cause })
    }
  }

  let running: Promise<SyncReport> | null = null
  /** The run that begins when the one under way ends. */
  let next: Promise<SyncReport> | null = null

  function begin(trigger: Trigger): Promise<SyncReport> {
    running ??= run(trigger).finally(() => {
      running = null
    })
    return running
  }

  async function idle(): Promise<void> {
    while (running !== null) await (next ?? running)
  }

  async function handOver(): Promise<Unpushed> {
    await idle()
    // Each by itself: the one must not keep the other here.
    for (const part of [push.verifications, push.stamps])
      try {
        await part(newReport('request'))
      } catch (cause) {
        log('warn', 'not handed over', { cause })
      }
    return {
      verifications: state.verifications.unpushed(ALL).length,
      stamps: state.stamps.withoutReceipt(ALL).length,
    }
  }

  return {
    handOver,
    last: () => state.meta.get(REPORT) as SyncReport | null,
    lastGoodAt: () => state.meta.get(GOOD) as string | null,
    offsetMs: () => state.meta.get(OFFSET) as number | null,
    refused: () => refused,
    failureOf: (report) =>
      report.ok
        ? null
        : (failures.get(report) ?? new AppError('backend_error', report.error ?? 'Sync failed.')),
    changed: (id) => void touched.add(id),
    run: begin,
    runAnew(trigger) {
      if (running === null) return begin(trigger)
      next ??= running.then(() => {
        next = null
        return begin(trigger)
      })
      return next
    },
    idle,
  }
}
