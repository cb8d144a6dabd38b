/**
 * Finds the process that may write to a state folder.
 *
 * If the lock is free, it is this process; otherwise, it is the daemon that owns the lock and
 * proves its identity. The lock can also belong to a short command or a starting daemon, for which
 * this process waits. If a command is for the daemon of the whole machine, it connects to that
 * daemon and opens nothing itself.
 */
import { lstatSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { StartError } from '../errors.ts'
import { STATE_VERSIONS } from '../state/migrations.ts'
import { openFolder } from '../storage/folder.ts'
import { type Lock, lockState } from '../storage/lock.ts'
import { BEGIN_ANEW } from '../storage/migrations.ts'
import { readRuntime } from '../storage/runtime-file.ts'
import type { DaemonConnection } from './daemon-connection.ts'
import { type InstanceFolders, systemInstance } from './system-instance.ts'

const PATIENCE_MS = 3_000
const PAUSE_MS = 30

type LockOwner =
  | { readonly lock: Lock }
  | { readonly daemon: DaemonConnection }
  /**
   * A process owns the lock but has not proved to be the folder's daemon. The error is the reason.
   */
  | { readonly unproven: StartError }

// node:timers/promises is not used here: few commands wait, and loading it would slow all of them.
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS))

const noDaemon = () =>
  new StartError(
    'daemonSilent',
    'Another countersignd process uses this state folder, but accepts no connections. Check its log, or stop it and try again.',
  )

/**
 * Acquires the lock of a state folder, or connects to the daemon that owns it.
 * @param token the token to send to a daemon; null for the command line's own token
 */
export async function holderOf(stateDir: string, token: string | null): Promise<LockOwner> {
  openFolder(stateDir)
  let waited = 0
  let asked = ''
  let unproven = noDaemon()
  for (;;) {
    const lock = lockState(stateDir)
    if (lock !== null) return { lock }
    if (waited >= PATIENCE_MS) return { unproven }
    const run = readRuntime(stateDir)
    // If a run of the daemon failed to prove its identity, it is not asked a second time.
    if (run !== null && run.nonce !== asked) {
      asked = run.nonce
      const { connect } = await import('./daemon-connection.ts')
      try {
        return { daemon: await connect(stateDir, token) }
      } catch (error) {
        if (!(error instanceof StartError)) throw error
        unproven = error
      }
    }
    // The daemon's modules are loaded during the pause, so that this process need not load them
    // while it owns the lock.
    await Promise.all([pause(), import('../daemon/daemon.ts')])
    waited += PAUSE_MS
  }
}

async function systemDaemon(
  place: InstanceFolders,
  token: string | null,
): Promise<DaemonConnection | null> {
  const instance = systemInstance(place)
  if (instance === null) return null
  const { connectToSystem } = await import('./system-connection.ts')
  return connectToSystem(instance, token)
}

/**
 * Checks that the configured Unix socket is not that of another user's daemon: the caller means
 * that daemon, and would get an account of their own instead.
 * @throws StartError `configuration`
 */
function requireNoOthersSocket({ socket }: Pick<Config, 'socket'>): void {
  if (socket === null) return
  const stat = lstatSync(socket.path, { throwIfNoEntry: false })
  if (stat?.isSocket() !== true || stat.uid === process.geteuid?.()) return
  throw new StartError(
    'configuration',
    `SVC_HTTP_SOCKET names ${socket.path}, the socket of user ${stat.uid}. The command line uses only your own daemon and the service of this machine. Send requests to the other daemon with a token (curl --unix-socket ${socket.path}), or unset SVC_HTTP_SOCKET to use your own account.`,
  )
}

/**
 * Like `holderOf`, but connects to the daemon of the whole machine if the command is for it.
 * @throws StartError `configuration` if the settings name the socket of another user's daemon
 */
export async function holderAt(
  place: InstanceFolders & Pick<Config, 'socket'>,
  token: string | null,
): Promise<LockOwner> {
  const daemon = await systemDaemon(place, token)
  if (daemon !== null) return { daemon }
  requireNoOthersSocket(place)
  return holderOf(place.stateDir, token)
}

/**
 * Connects to the running daemon, of the whole machine or of this state folder.
 *
 * Does not wait, and opens no state.
 * @param token as for `holderOf`
 * @throws StartError `daemonSilent` if no daemon proves its identity
 */
export async function daemonAt(
  place: InstanceFolders,
  token: string | null,
): Promise<DaemonConnection> {
  const daemon = await systemDaemon(place, token)
  if (daemon !== null) return daemon
  const { connect } = await import('./daemon-connection.ts')
  return connect(place.stateDir, token)
}

/**
 * Checks that a daemon uses the same version of the state as this program.
 *
 * This program may have been updated since the daemon started. Only with the same version do both
 * have the same interface for the command line. Otherwise, the connection is closed.
 * @throws StartError `stateOlder` or `stateNewer`
 */
export function requireSameVersion(connection: DaemonConnection): void {
  const { pid, stateVersion } = connection.run
  const { first, newest } = STATE_VERSIONS
  if (stateVersion === newest) return
  connection.close()
  const daemon = `The running daemon (process ${pid})`
  if (stateVersion === null || stateVersion < first)
    throw new StartError(
      'stateOlder',
      `${daemon} is a countersignd from before the first release. Nothing was sent to it. Stop it: kill ${pid}. ${BEGIN_ANEW}`,
    )
  const versions = `(state version ${stateVersion}, this one has ${newest})`
  if (stateVersion < newest)
    throw new StartError(
      'stateOlder',
      `${daemon} is older than this program ${versions}. Nothing was sent to it. Stop it, and start this version: kill ${pid}; countersignd serve`,
    )
  throw new StartError(
    'stateNewer',
    `${daemon} is newer than this program ${versions}. Nothing was sent to it. Update countersignd, or stop the daemon and use another SVC_STATE_DIR.`,
  )
}
