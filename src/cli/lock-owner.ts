/**
 * Who may write to a state folder: this process, when its lock is free, or the daemon that holds it and has proven itself. A
 * lock held by neither belongs to another command, which is soon done, or to a daemon that is starting; both are waited for.
 * A command that is meant for the instance of the whole machine asks that one, and opens nothing itself.
 */
import { StartError } from '../errors.ts'
import { openFolder } from '../storage/folder.ts'
import { type Lock, lockState } from '../storage/lock.ts'
import { readRuntime } from '../storage/runtime-file.ts'
import type { DaemonConnection } from './daemon-connection.ts'
import { type Place, systemInstance } from './system-instance.ts'

const PATIENCE_MS = 3_000
const PAUSE_MS = 30

export type Holder =
  | { readonly lock: Lock }
  | { readonly daemon: DaemonConnection }
  /** Somebody holds the folder and has not proven to be its daemon: why not. */
  | { readonly unproven: StartError }

// Not node:timers/promises: nearly nobody waits, and loading it would delay everybody.
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS))

const noDaemon = () =>
  new StartError(
    'daemonSilent',
    'Another countersignd holds this state folder and does not listen. Look at its log, or stop it and try again.',
  )

/**
 * Take the lock of a state folder, or connect to the daemon that has it.
 * @param token what to send to a daemon, or null for the command line's own token
 */
export async function holderOf(stateDir: string, token: string | null): Promise<Holder> {
  openFolder(stateDir)
  let waited = 0
  let asked = ''
  let unproven = noDaemon()
  for (;;) {
    const lock = lockState(stateDir)
    if (lock !== null) return { lock }
    if (waited >= PATIENCE_MS) return { unproven }
    const run = readRuntime(stateDir)
    // Whoever failed to prove to be this run of the daemon is not asked a second time.
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
    // Whoever has the lock then has it shorter when all that is needed is loaded before.
    await Promise.all([pause(), import('../daemon/daemon.ts')])
    waited += PAUSE_MS
  }
}

async function systemDaemon(place: Place, token: string | null): Promise<DaemonConnection | null> {
  const instance = systemInstance(place)
  if (instance === null) return null
  const { connectToSystem } = await import('./system-connection.ts')
  return connectToSystem(instance, token)
}

/** As `holderOf`, for the daemon of the whole machine where a command is meant for that. */
export async function holderAt(place: Place, token: string | null): Promise<Holder> {
  const daemon = await systemDaemon(place, token)
  return daemon === null ? holderOf(place.stateDir, token) : { daemon }
}

/**
 * Connect to the daemon that runs, the system's or that of the own state folder; nothing is waited for or opened.
 * @param token as for `holderOf`
 * @throws StartError daemonSilent where none proves itself
 */
export async function daemonAt(place: Place, token: string | null): Promise<DaemonConnection> {
  const daemon = await systemDaemon(place, token)
  if (daemon !== null) return daemon
  const { connect } = await import('./daemon-connection.ts')
  return connect(place.stateDir, token)
}
