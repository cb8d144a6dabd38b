/**
 * Sync: updates this device's copy of the account, uploads local records, and does pending work.
 *
 * One run at a time. A scheduled sync joins the current run. A requested sync gets its own run
 * after the current one. The report lists what was done. A run does not overwrite changes that the
 * user makes during the run; the next run includes them.
 */
import { SYNC_LISTS } from '../../api/device/changes.ts'
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import type { SyncReport } from '../../api/rest/sync.ts'
import { ID_PREFIX, isId, parseId } from '../../crypto/encoding/id.ts'
import { elapsedMs } from '../../elapsed.ts'
import { AppError, toAppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { METRICS } from '../../metrics/catalogue.ts'
import type { State } from '../../state/state.ts'
import { type ClockWatch, type ClockSource, measureOffset } from '../codes/clock.ts'
import type { Codes } from '../codes/codes.ts'
import type { Identity } from '../identity/identity.ts'
import { copyWarning } from '../identity/own-keys.ts'
import { newDuties } from './pending-work.ts'
import { dropOldKeys } from '../codes/former-keys.ts'
import { dropOpening } from '../logs/openings.ts'
import { followCode, isPublicCodeActive } from '../codes/public-code.ts'
import { ENDING, runEach } from '../in-order.ts'
import { newPlaces, type News } from './news.ts'
import { complain, newPull, type OwnLog, remark } from './pull.ts'
import { newPush } from './push.ts'
import { recoveryLook } from '../trust/recovery-notice.ts'
import { newRotationWaits } from '../logs/hold-ups.ts'
import { deleteOldHalves, isRenewalDue } from './seal-schedule.ts'
import { refreshTrust } from '../trust/trust.ts'
import type { Vault } from '../identity/vault.ts'

const REPORT = 'last_sync'
const GOOD = 'last_good_sync'
const OFFSET = 'clock_offset_ms'
/**
 * The age at which an unused secret is deleted, in milliseconds.
 *
 * A secret is stored before the request that uses it, so a younger one may still be needed.
 */
const ORPHAN_MS = 24 * 3600 * 1000

const CLOCK_BEHIND =
  'The clock of this machine shows an earlier time than before, so no words can be checked. Set the clock. If it is right now and was ahead before, run "countersignd sync --clock-is-right".'

const RENEWED =
  'This device was restored from a backup that was made before its sealing key was renewed, and has renewed it again.'

/** No limit on the number of rows. */
const ALL = -1

type Trigger = SyncReport['trigger']

export interface Sync {
  /** Returns the report of the last run; null if no run has ended. */
  last(): SyncReport | null
  /** Returns when the last successful run ended; null if there was none. */
  lastGoodAt(): string | null
  /** Returns the server's clock minus this device's, in milliseconds; null if never measured. */
  offsetMs(): number | null
  /** Returns the message if the last run found that this device is signed out; otherwise null. */
  refused(): string | null
  /** Runs a sync, or joins the current run. Never throws: a failure is in the report. */
  run(trigger: Trigger): Promise<SyncReport>
  /** Returns the error behind a failed report; null if the report is `ok`. */
  failureOf(report: SyncReport): AppError | null
  /**
   * Runs again after the current run, which may already have passed what has changed since.
   *
   * All callers during the current run share the next run. Never throws.
   */
  runAnew(trigger: Trigger): Promise<SyncReport>
  /** Records that the user changed an item, so that the current run does not overwrite it. */
  changed(id: string): void
  /** Resolves when no run is in progress. */
  idle(): Promise<void>
  /**
   * Uploads only local records, after the current run. Never throws.
   * @returns how many records the account server still lacks
   */
  handOver(): Promise<Unpushed>
}

/** The number of records that only this device has. */
export interface Unpushed {
  readonly verifications: number
  readonly stamps: number
}

/**
 * Returns when a connection or guest code was created, from its id, Unix milliseconds.
 * @returns null for other ids
 * @see RFC 9562 section 5.7
 */
function madeAt(id: string): number | null {
  const prefix = [ID_PREFIX.connection, ID_PREFIX.guest].find((one) => isId(one, id))
  return prefix === undefined ? null : Buffer.from(parseId(prefix, id)).readUIntBE(0, 6)
}

/** Checks whether a run fetched or sent anything. */
const hasChanges = ({ pulled, pushed }: SyncReport): boolean =>
  Object.values({ ...pulled, ...pushed }).some((count) => count > 0)

export function newSync(options: {
  state: State
  vault: Vault
  codes: Codes
  identity: Identity
  account: Account
  clock: ClockSource
  watch: ClockWatch
  now: () => number
  log: Log
  requireSession: () => void
  syncSoon: (trigger: Trigger) => void
}): Sync {
  const { state, vault, identity, account, clock, watch, now, log, syncSoon } = options
  /** The ids that the user changed since the current run began. */
  const touched = new Set<string>()
  let refused: string | null = null
  const failures = new WeakMap<SyncReport, AppError>()
  const places = newPlaces(now)
  /** The last answer about the own key log. */
  let ownLog: OwnLog = { isKnown: false, profile: undefined }

  const pull = newPull({ ...options, touched })
  const push = newPush({ state, account, identity })
  const waits = newRotationWaits({ now, wake: () => syncSoon('timer') })
  const duties = newDuties({ device: options, account, waits, log })

  /**
   * Deletes secrets that belong to no connection or guest code.
   *
   * Such secrets exist after a crash, or if the server never responded.
   */
  function dropOrphans() {
    for (const id of state.secrets.ids()) {
      if (state.connections.get(id) !== null || state.guests.get(id) !== null) continue
      const made = madeAt(id)
      if (made === null || made >= now() - ORPHAN_MS || touched.has(id)) continue
      vault.delete(id)
      dropOpening(state, id)
    }
  }

  function keepOffset(offset: number): void {
    state.transaction(() => {
      state.meta.set(OFFSET, offset)
      watch.measured(now())
    })
  }

  async function readClock(report: SyncReport): Promise<void> {
    if (clock !== 'own') keepOffset((await measureOffset(() => clock.read({}), now)).offset)
    else if (watch.state(now()) === 'behind') remark(report, CLOCK_BEHIND)
  }

  /**
   * Asks the account server what changed, and reads its clock from the answer.
   *
   * A sync that the user requested reads everything.
   */
  async function readNews(report: SyncReport): Promise<News> {
    if (report.trigger === 'request') {
      await readClock(report)
      return places.begin(null)
    }
    const { answer, offset } = await measureOffset(async () => {
      const changes = await places.ask(account)
      return { changes, now: changes?.now ?? '' }
    }, now)
    if (answer.changes === null || clock === 'own') await readClock(report)
    else keepOffset(offset)
    return places.begin(answer.changes)
  }

  /**
   * Reads this account's key log, and signs its name if that is due.
   * @returns whether the account server's key log agrees with the one stored here
   */
  async function readOwnLog(news: News, report: SyncReport): Promise<boolean> {
    if (news.has('key_log') || pull.isLogDue()) ownLog = await pull.ownLog(report)
    const { isKnown, profile } = ownLog
    news.read('key_log', isKnown)
    if (isKnown) await noticeRecoveryKey()
    if (isKnown) await pull.ownName(profile)
    return isKnown
  }

  /** Updates the keys of followed accounts. */
  async function readTrust(news: News, report: SyncReport): Promise<void> {
    const refreshed = await refreshTrust(options, account, news.has('trust_cards'))
    if (refreshed === null) return
    news.read('trust_cards', refreshed.isSettled)
    // The accounts stay followed: the server may omit an account because it wants to change its
    // keys.
    for (const id of refreshed.unlisted)
      remark(
        report,
        `${id} is followed on this device, but the account server no longer lists them. If you unfollowed them on another device, do the same here ("countersignd trust unfollow ${id}").`,
      )
  }

  /** Reports to programs what changed in lists. A failure must not fail the sync. */
  async function readLists(news: News): Promise<void> {
    for (const list of SYNC_LISTS.filter((one) => news.has(one))) {
      const { readList } = await import('./lists.ts')
      try {
        await readList(options, account, list)
        news.read(list, true)
      } catch (error) {
        const { code } = toAppError(error)
        if (ENDING.includes(code)) throw error
        // A machine account without an organisation, for example, has no such list. An earlier
        // account server has no route for the list of devices.
        news.read(list, code === 'forbidden' || code === 'no_such_route')
        log('warn', 'could not read what changed', { list, cause: error })
      }
    }
  }

  async function renewSealKey(report: SyncReport): Promise<void> {
    if (!isRenewalDue(options)) return
    const { renewIfDue } = await import('./seal-renewal.ts')
    if (await renewIfDue(options, account)) remark(report, RENEWED)
  }

  function warnOfCopy(report: SyncReport): void {
    const warning = copyWarning(state)
    if (warning === null) return
    log('error', 'another copy of the keys of this device is in use', { device: identity.device })
    remark(report, warning)
  }

  /** Looks for a recovery key that another device set, if this account's key log has grown. */
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

  /** Does work on this device's sealing keys. If it fails, the rest of the sync continues. */
  async function keepSealing(report: SyncReport, part: () => void | Promise<void>): Promise<void> {
    try {
      await part()
    } catch (error) {
      const { code, message } = toAppError(error)
      if (ENDING.includes(code)) throw error
      log('warn', 'could not renew the sealing keys', { cause: error })
      remark(report, `The sealing key of this device: ${message}`)
    }
  }

  async function work(report: SyncReport): Promise<void> {
    // Read before the requests, because an item created during a request is missing from the
    // response.
    const connections = new Set(state.connections.ids())
    const guests = new Set(state.guests.all().map(({ id }) => id))
    // Old keys are deleted even if the account server is unavailable, because they must not be kept
    // longer.
    dropOldKeys(options, now())
    // Must be first: verifications need the clock state even if the rest of the sync fails.
    const news = await readNews(report)
    const isLogKnown = await readOwnLog(news, report)
    // The sealing key is renewed before envelopes are opened. An envelope that cannot be opened is
    // deleted, so that another device seals the secret to the newest key.
    if (isLogKnown) await keepSealing(report, () => renewSealKey(report))
    warnOfCopy(report)
    await pull.declined()
    if (news.has('connections') || !pull.areWhole())
      news.read('connections', await pull.connections(connections, report))
    await keepSealing(report, () => deleteOldHalves(options))
    if (news.has('guest_codes')) {
      await pull.guestCodes(guests, report)
      news.read('guest_codes', true)
    }
    // Another device may have switched the public code off, or a revocation may have ended it.
    if (isPublicCodeActive(options) && news.has('public_code')) {
      await followCode(options, account)
      news.read('public_code', true)
    }
    // This step runs separately: an older account server may reject the records, which must not
    // prevent rotations.
    await runEach(
      [
        () => push.verifications(report),
        // A server rejects a valid stamp if it does not have the key log that the stamp refers to.
        // Such stamps are sent when the server has the log again.
        async () => {
          if (isLogKnown) await push.stamps(report)
        },
        async () => news.read('duties', await duties(report, news.has('duties'))),
      ],
      (cause) => log('warn', 'part of a sync failed', { cause }),
    )
    await readTrust(news, report)
    await readLists(news)
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
      const failure = toAppError(error)
      if (failure.code === 'not_signed_in') {
        refused = failure.message
        // A device that was removed must not show the account's data later.
        state.copies.clear()
      }
      log(failure.code === 'internal' ? 'error' : 'warn', 'sync failed', {
        trigger,
        cause: failure.cause ?? failure,
      })
      complain(report, failure.message)
      failures.set(report, failure)
    }
    report.finished_at = timeAt(now())
    if (report.ok && touched.size === 0) places.keep()
    else places.drop()
    keep(report)
    return report
  }

  /**
   * Appends the event of a run, unless nothing changed and the run was not requested.
   *
   * An account server can cause many runs by hints. If each had an event, these would soon replace
   * all others.
   */
  function reportEvent(report: SyncReport): void {
    const { ok, trigger, pulled, pushed } = report
    const before = state.meta.get(REPORT) as SyncReport | null
    if (trigger !== 'request' && (before?.ok ?? true) === ok && !(ok && hasChanges(report))) return
    if (ok) state.events.append('sync.done', { trigger, pulled, pushed })
    else state.events.append('sync.failed', { trigger, code: failures.get(report)?.code ?? null })
  }

  function keep(report: SyncReport): void {
    try {
      state.transaction(() => {
        reportEvent(report)
        state.meta.set(REPORT, report)
        watch.noted(now())
        if (report.ok) state.meta.set(GOOD, report.finished_at)
      })
    } catch (cause) {
      log('error', 'sync report not stored', { cause })
    }
  }

  /** Runs a sync and counts it. */
  async function counted(trigger: Trigger): Promise<SyncReport> {
    const from = elapsedMs()
    const report = await run(trigger)
    METRICS.syncs.add({ trigger, result: report.ok ? 'succeeded' : 'failed' })
    METRICS.syncDuration.observe(METRICS.syncDuration.at({}), elapsedMs() - from)
    return report
  }

  let running: Promise<SyncReport> | null = null
  /** The run that starts when the current one ends. */
  let next: Promise<SyncReport> | null = null

  function begin(trigger: Trigger): Promise<SyncReport> {
    running ??= counted(trigger).finally(() => {
      running = null
    })
    return running
  }

  async function idle(): Promise<void> {
    while (running !== null) await (next ?? running)
  }

  async function handOver(): Promise<Unpushed> {
    await idle()
    // Separate, because a failure of one must not block the other.
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
    changed(id) {
      touched.add(id)
      places.drop()
    },
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
