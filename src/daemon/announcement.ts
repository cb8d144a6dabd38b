/**
 * Publishes where a daemon listens: for the command line of its own user, and for other users if
 * it serves the whole machine.
 */
import type { Config } from '../config/config.ts'
import type { Log } from '../log.ts'
import { publish, unpublish } from '../storage/published.ts'
import { type Runtime, removeRuntime, writeRuntime } from '../storage/runtime-file.ts'

type Folders = Pick<Config, 'stateDir' | 'runtimeDir'>

/** Publishes where the daemon listens. */
export function announce({ stateDir, runtimeDir }: Folders, runtime: Runtime, log: Log): void {
  writeRuntime(stateDir, runtime)
  if (runtimeDir === null) return
  try {
    publish(runtimeDir, runtime)
  } catch (cause) {
    log('warn', 'other users of this machine will not find the daemon', { cause, runtimeDir })
  }
}

/** Removes what `announce` published. */
export function withdrawAnnouncement({ stateDir, runtimeDir }: Folders): void {
  if (runtimeDir !== null) unpublish(runtimeDir)
  removeRuntime(stateDir)
}
