/**
 * What a daemon depends on. Nothing here writes, and nothing asks the system's keychain, because
 * that may ask its user to unlock it.
 */
import { constants } from 'node:fs'
import { access, statfs } from 'node:fs/promises'
import { active, newReadiness, type ReadDependencies } from '../api/readiness.ts'
import type { Dependency } from '../api/rest/health.ts'
import { isWrong } from '../device/codes/clock.ts'
import { STALE_MATCH_MS } from '../device/codes/freshness.ts'
import type { LocalDevice } from '../device/device.ts'
import type { DeviceSession } from '../device/session/session.ts'
import type { Reachability } from '../device/sync/reachability.ts'
import { AppError } from '../errors.ts'
import type { CountedKeychain } from '../keychain/counted.ts'
import type { State } from '../state/state.ts'
import { LEAST_FREE_BYTES } from '../storage/folder.ts'
import type { Backend } from './backend.ts'

const DAY_MS = 24 * 3_600_000

interface DaemonParts {
  readonly stateDir: string
  readonly state: State
  readonly keychain: CountedKeychain
  readonly deviceSession: DeviceSession
  readonly reachability: Pick<Reachability, 'read'>
  readonly backend: Pick<Backend, 'server' | 'url' | 'ready'>
  readonly now: () => number
  readonly signal: AbortSignal
}

const degraded = (service: Dependency['service'], message: string): Dependency => ({
  service,
  status: 'degraded',
  message,
})

const down = (service: Dependency['service'], message: string): Dependency => ({
  service,
  status: 'down',
  message,
})

async function folderNow({ stateDir, state }: DaemonParts): Promise<Dependency> {
  const service = 'state_folder'
  try {
    await access(stateDir, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = await statfs(stateDir)
    // A read fails if the database or its disk is gone.
    state.connections.count()
    if (bavail * bsize < LEAST_FREE_BYTES)
      return down(service, `The disk of ${stateDir} is full. Free some space.`)
    return active(service, `${stateDir} can be read and written.`)
  } catch (error) {
    const { code = 'an error of the database' } = error as NodeJS.ErrnoException
    return down(service, `${stateDir} cannot be used (${code}). Check the disk.`)
  }
}

function keychainNow({ keychain }: DaemonParts): Dependency {
  const place = keychain.backend === 'os' ? 'The keychain of the system' : 'The sealed file'
  return keychain.isFailing()
    ? down('keychain', `${place} could not be used at the last attempt. Unlock or restore it.`)
    : active('keychain', `${place} has the secrets.`)
}

function accountNow({ deviceSession }: DaemonParts): Dependency {
  if (deviceSession.identity() === null) return degraded('account', deviceSession.absent().message)
  const device = deviceSession.device()
  const refused = device?.sync.refused() ?? deviceSession.refused()
  if (refused !== null) return degraded('account', refused)
  return device === null
    ? degraded('account', 'This device waits for approval.')
    : active('account', 'This device is signed in.')
}

async function serverNow({ reachability, backend }: DaemonParts): Promise<Dependency> {
  const { reachable } = await reachability.read()
  const place = backend.server ?? 'The account server in this daemon'
  return reachable === false
    ? degraded('account_server', `${place} does not answer. Words, checks and stamps still work.`)
    : active('account_server', reachable === null ? `${place} was asked.` : `${place} answers.`)
}

const clockNow = (device: LocalDevice): Dependency =>
  isWrong(device.readClock())
    ? degraded('clock', 'The clock of this machine was changed. Words fail until the next sync.')
    : active('clock', 'The clock of this machine is steady.')

function syncNow({ sync }: LocalDevice, now: number): Dependency {
  const last = sync.last()
  const good = sync.lastGoodAt()
  if (last === null) return active('sync', 'The first sync has not ended yet.')
  if (last.error !== null) return degraded('sync', `The last sync failed: ${last.error}`)
  const isStale = good === null || now - Date.parse(good) > STALE_MATCH_MS
  return isStale
    ? degraded('sync', `No sync succeeded within ${STALE_MATCH_MS / DAY_MS} days.`)
    : active('sync', `The last sync succeeded at ${good}.`)
}

/** Returns what an embedded account server depends on. A remote one reports it itself. */
async function withinNow({ backend }: DaemonParts): Promise<readonly Dependency[]> {
  if (backend.server !== null) return []
  try {
    return ((await backend.ready()) as { dependencies: readonly Dependency[] }).dependencies
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return (error.details.dependencies ?? []) as readonly Dependency[]
  }
}

/** Returns a function that returns the dependencies of a daemon. */
export function readinessOf(parts: DaemonParts): ReadDependencies {
  const { deviceSession, now, signal } = parts
  const examine: ReadDependencies = async () => {
    const device = deviceSession.device()
    const ofDevice = device === null ? [] : [clockNow(device), syncNow(device, now())]
    const [folder, server] = await Promise.all([folderNow(parts), serverNow(parts)])
    return [folder, keychainNow(parts), accountNow(parts), server, ...ofDevice]
  }
  const own = newReadiness({ examine, now, signal })
  return async () => [...(await own()), ...(await withinNow(parts))]
}
