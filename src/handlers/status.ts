import type { InferOutput } from 'valibot'
import { timeAt } from '../api/fields.ts'
import type { Dependency } from '../api/rest/health.ts'
import type { Status } from '../api/rest/status.ts'
import { inQuotes } from '../api/name-text.ts'
import { reachableFrom } from '../api/reachable.ts'
import { isPublicCodeActive } from '../device/codes/public-code.ts'
import type { LocalDevice } from '../device/device.ts'
import { copyWarning } from '../device/identity/own-keys.ts'
import { readFacts } from '../device/identity/identity.ts'
import { revokedHere } from '../device/identity/refusals.ts'
import { nameToSign } from '../device/identity/signed-name.ts'
import type { DeviceSession } from '../device/session/session.ts'
import { noticeTexts } from '../device/sync/notices.ts'
import { waitingDevices } from '../device/sync/waiting-devices.ts'
import { readSchedule, scheduleFault } from '../state/backup-schedule.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import { lastBackupAt } from '../state/last-backup.ts'
import type { State } from '../state/state.ts'
import { VERSION } from '../runtime/version.ts'
import { type HandlerContext, type Handlers, noDevice } from './context.ts'
import { changedKeys, forkedConnections, needsOf } from './needs.ts'

const uptimeOf = ({ now, startedAt }: HandlerContext['home']): number =>
  Math.max(0, Math.floor((now() - startedAt) / 1000))

/** The dependencies without which the daemon is not ready, and the code of the error. */
const NEEDED: Readonly<Partial<Record<Dependency['service'], ErrorCode>>> = {
  state_folder: 'storage_full',
  keychain: 'keychain_locked',
}

export const health: Handlers['health'] = {
  read: async (_input, { home }) => ({
    status: 'ok',
    version: VERSION,
    uptime_s: uptimeOf(home),
  }),

  /**
   * Rejects if this daemon cannot store anything or has no secrets. It is ready without an account
   * server, because words, checks and stamps work.
   */
  ready: async (_input, { byMachine, home }) => {
    if (byMachine) throw noDevice()
    const dependencies = [...(await home.readiness())]
    for (const { service, status: found, message } of dependencies) {
      const code = NEEDED[service]
      if (found === 'down' && code !== undefined)
        throw new AppError(code, message, { details: { dependencies } })
    }
    return {
      name: 'Countersign daemon',
      status: 'ok',
      version: VERSION,
      uptime_s: uptimeOf(home),
      dependencies,
    }
  },
}

export const metrics: Handlers['metrics'] = {
  read: async (_input, { byMachine, home, accept }) => {
    if (byMachine) throw noDevice()
    await home.readiness()
    const { exposition } = await import('../metrics/exposition.ts')
    return exposition(accept)
  },
}

type Found = Omit<
  InferOutput<typeof Status>,
  | 'environment'
  | 'backend'
  | 'public_url'
  | 'reachable'
  | 'version'
  | 'keychain'
  | 'backend_reachable'
  | 'backend_unreachable_since'
  | 'not_working'
  | 'stream'
  | 'next_sync_at'
  | 'api'
  | 'socket'
>

/** What needs the account server, and therefore fails while the server is unreachable. */
const NOT_WORKING: readonly string[] = [
  'Data of organisations, and reads that this device has no copy of: they answer 503 backend_unavailable. Other reads answer from the copies of this device, marked with as_of.',
  'Every change: creating, inviting, approving, removing, revoking a device. Nothing is queued. Try again later.',
  'Look-ups of public words, and tokens of machine accounts.',
  'Sync: secrets of new connections are not fetched. Receipts of stamps and the log of checks follow later.',
]

/**
 * Returns the status members for an account server that is unreachable.
 * @param since when it became unreachable, Unix milliseconds
 */
const away = (since: number) => ({
  backend_reachable: false,
  backend_unreachable_since: timeAt(since),
  not_working: [...NOT_WORKING],
})

/**
 * Returns the last sentence of the summary; empty if the account server is reachable.
 * @param since when the account server became unreachable; null if it is reachable or was not asked
 *   yet
 * @param device this device, which still works without the account server; null if there is none
 */
function sentence(since: number | null, device: LocalDevice | null): string {
  if (since === null) return ''
  const works =
    device === null
      ? ''
      : ' Words, word checks and stamps still work, and lists come from the copies of this device.'
  return ` The account server has not answered since ${timeAt(since)}: changes fail until it answers.${works}`
}

/** The members that need a device. */
const nothingOfDevice = {
  display_name: null,
  clock: null,
  last_backup_at: null,
  scheduled_backup: null,
  last_error: null,
  waiting: null,
  needs_you: [],
  notices: [],
  waiting_devices: [],
  changed_keys: [],
  forked_connections: [],
}

/**
 * Returns the status for a machine account's caller, which has no cache and no device here. A null
 * member does not apply.
 */
const ofMachine = (backend: string): Found => ({
  authenticated: true,
  device_registered: null,
  global_key_active: null,
  cached_connections: null,
  last_sync_at: null,
  ...nothingOfDevice,
  summary: `A machine account’s token, good at ${backend}. It has no device here.`,
})

const without = (authenticated: boolean, summary: string): Found => ({
  authenticated,
  device_registered: false,
  global_key_active: false,
  cached_connections: 0,
  last_sync_at: null,
  ...nothingOfDevice,
  summary,
})

/** Returns why the account server rejects this device; null if it seems to accept it. */
function refusalOf(
  device: LocalDevice | null,
  deviceSession: Pick<DeviceSession, 'refused'>,
): string | null {
  const refused = device?.sync.refused() ?? deviceSession.refused()
  if (refused !== null || device === null) return refused
  return readFacts(device.state)?.revoked ? revokedHere().message : null
}

/** Returns the error of the last sync; null if it succeeded. */
function lastError({ sync }: LocalDevice): Found['last_error'] {
  const last = sync.last()
  return last === null || last.error === null ? null : { at: last.finished_at, message: last.error }
}

/** Returns what the next sync hands over. */
const waitingIn = ({ verifications, stamps, connections }: State): Found['waiting'] => ({
  verifications: verifications.countUnpushed(),
  stamps: stamps.countWithoutReceipt(),
  rotations: connections.pending().length,
})

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`

/** Returns a sentence: which account is in use, where, and how much of it is on this device. */
function inUse({ state, identity }: LocalDevice, backend: string): string {
  const guests = counted(state.guests.countActive(), 'guest code')
  const held = `${counted(state.connections.count(), 'connection')} and ${guests}`
  if (identity.server !== null) return `Signed in to ${backend}, with ${held} on this device.`
  const name = nameToSign(state)
  const who = name === null ? identity.account : `of ${inQuotes(name)}`
  return `The account ${who} is on this machine only, with ${held}.`
}

/** Returns the scheduled backups; null if there are none. */
function scheduledBackup(state: State, now: number): Found['scheduled_backup'] {
  const schedule = readSchedule(state)
  if (schedule === null) return null
  const { at, keep, last_success_at } = schedule
  return { at, keep, last_success_at, fault: scheduleFault(schedule, now) }
}

function ofDevice(
  device: LocalDevice,
  refused: string | null,
  { backend, now }: { readonly backend: string; readonly now: number },
): Found {
  const { state, sync } = device
  const signedIn = inUse(device, backend)
  const warning = copyWarning(state)
  const notices = noticeTexts(state)
  return {
    authenticated: refused === null,
    // The account server rejects a revoked device with the same error as an ended session.
    device_registered: refused === null,
    global_key_active: isPublicCodeActive(device),
    cached_connections: state.connections.count(),
    last_sync_at: sync.lastGoodAt(),
    last_error: lastError(device),
    waiting: waitingIn(state),
    needs_you: [...notices, ...needsOf(state, now)],
    notices,
    waiting_devices: waitingDevices(state),
    display_name: nameToSign(state),
    clock: device.readClock(),
    last_backup_at: lastBackupAt(state),
    scheduled_backup: scheduledBackup(state, now),
    changed_keys: changedKeys(device),
    forked_connections: forkedConnections(state),
    summary: refused ?? (warning === null ? signedIn : `${signedIn} ${warning}`),
  }
}

function found({
  byMachine,
  device,
  home: { deviceSession, backend, now },
}: HandlerContext): Found {
  const at = backend()
  if (byMachine) return ofMachine(at)
  if (deviceSession.identity() === null) return without(false, deviceSession.absent().message)
  const refused = refusalOf(device, deviceSession)
  if (device !== null) return ofDevice(device, refused, { backend: at, now: now() })
  return without(
    refused === null,
    refused ??
      `Signed in to ${at}; this device waits for approval and may only read. Run "countersignd login" here, and "countersignd device approve" on a device that is signed in.`,
  )
}

export const status: Handlers['status'] = {
  read: async (_input, context) => {
    const { environment, backend, keychain, reachability } = context.home
    const { reachable, since } = await reachability.read()
    const serving = context.home.serving()
    const nextSync = serving?.nextSyncAt == null ? null : timeAt(serving.nextSyncAt)
    const { summary, ...rest } = found(context)
    const known = { backend_reachable: reachable, backend_unreachable_since: null, not_working: [] }
    return {
      ...rest,
      environment,
      backend: backend(),
      public_url: backend(),
      reachable: reachableFrom(backend()),
      version: VERSION,
      ...(since === null ? known : away(since)),
      stream: context.byMachine ? null : (serving?.stream ?? null),
      next_sync_at: context.byMachine ? null : nextSync,
      api: serving?.api ?? null,
      socket: serving?.socket ?? null,
      summary: `${summary}${sentence(since, context.device)}`,
      keychain,
    }
  },
}

export const doctor: Handlers['doctor'] = {
  read: async (_input, { byMachine, home }) => {
    if (byMachine) throw noDevice()
    return home.doctor()
  },
}

export const sync: Handlers['sync'] = {
  read: async (_input, { local }) => ({ last_sync: local.sync.last() }),

  /**
   * Runs a sync. If the sync fails, this request fails with the same error, and `read` returns the
   * report of the failed sync.
   */
  run: async (_input, { local }) => {
    const report = await local.sync.runAnew('request')
    const failure = local.sync.failureOf(report)
    if (failure !== null) throw failure
    return { last_sync: report }
  },
}
