/** Checks whether the daemon proves itself, at once or within a time limit. */
import type { Config } from '../config/config.ts'
import { EXIT, StartError } from '../errors.ts'
import { daemonAt } from './lock-owner.ts'
import { isForSystem } from './system-instance.ts'

const PAUSE_MS = 100

/** The daemon’s address, or why no daemon proved itself. */
export type Answering = { readonly address: string } | { readonly silent: StartError }

export interface HealthPatience {
  /** How long to wait for the daemon, in milliseconds. */
  readonly waitMs: number
  /**
   * The process that becomes the daemon: waiting stops when it has ended. null for any process.
   */
  readonly pid: number | null
}

const noneAt = (stateDir: string, cause: StartError) =>
  new StartError(
    'daemonSilent',
    `No daemon of ${stateDir} answers. Start it, or look at its log.`,
    cause,
  )

async function ask(config: Config): Promise<Answering> {
  try {
    const daemon = await daemonAt(config, null)
    daemon.close()
    return { address: daemon.address }
  } catch (error) {
    if (!(error instanceof StartError) || error.exit !== EXIT.daemonSilent) throw error
    return { silent: isForSystem(config) ? error : noneAt(config.stateDir, error) }
  }
}

/** Returns whether a process exists, also one of another user. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Repeats an attempt until it succeeds, the time is over, or the process has ended.
 * @returns the result of the last attempt
 */
async function until<T>(
  { waitMs, pid }: HealthPatience,
  attempt: () => Promise<{ readonly done: boolean; readonly last: T }>,
): Promise<T> {
  const end = performance.now() + waitMs
  for (;;) {
    // Read before the attempt, so that the attempt sees what the process did before its end.
    const over = performance.now() >= end || (pid !== null && !isAlive(pid))
    const { done, last } = await attempt()
    if (done || over) return last
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/**
 * Requests the daemon’s proof until it is valid or the time is over.
 * @throws StartError if no daemon may be asked: an unsafe folder, or a service that another user
 *   may have planted
 */
export const awaitHealth = (config: Config, patience: HealthPatience): Promise<Answering> =>
  until(patience, async () => {
    const last = await ask(config)
    return { done: 'address' in last, last }
  })

/** Waits for the end of the process; returns at once if there is none. */
export const ended = async (patience: HealthPatience): Promise<void> =>
  patience.pid === null
    ? undefined
    : until(patience, async () => ({ done: false, last: undefined }))
