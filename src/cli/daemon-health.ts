/** Whether the daemon answers as itself, now or within a while. */
import type { Config } from '../config/config.ts'
import { EXIT, StartError } from '../errors.ts'
import { daemonAt } from './lock-owner.ts'
import { isForSystem } from './system-instance.ts'

const PAUSE_MS = 100

/** Where it listens, or why nobody there is taken for it. */
export type Answering = { readonly address: string } | { readonly silent: StartError }

export interface Patience {
  /** How long to wait for it, in milliseconds. */
  readonly waitMs: number
  /** The process that is to become it: once it has ended, nobody is waited for; null for any. */
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

/** Whether a process is there; one of another user is, too. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Call something again and again until it is done, the time is over or the process has ended.
 * @returns what it said last
 */
async function until<T>(
  { waitMs, pid }: Patience,
  attempt: () => Promise<{ readonly done: boolean; readonly last: T }>,
): Promise<T> {
  const end = performance.now() + waitMs
  for (;;) {
    // Looked at first: what it did before its end is seen by the attempt.
    const over = performance.now() >= end || (pid !== null && !isAlive(pid))
    const { done, last } = await attempt()
    if (done || over) return last
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/**
 * Ask the daemon for its proof until it gives it or there is no more patience.
 * @throws StartError where there is nobody to ask: a folder that is not safe, a service that somebody else may have planted
 */
export const answering = (config: Config, patience: Patience): Promise<Answering> =>
  until(patience, async () => {
    const last = await ask(config)
    return { done: 'address' in last, last }
  })

/** Wait for the end of the process; without one, for nothing. */
export const ended = async (patience: Patience): Promise<void> =>
  patience.pid === null
    ? undefined
    : until(patience, async () => ({ done: false, last: undefined }))
