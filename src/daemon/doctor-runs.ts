/**
 * Runs `countersignd doctor` for this daemon in a process of its own, so that no check blocks the
 * daemon.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import * as v from 'valibot'
import { DoctorReport } from '../api/rest/doctor.ts'
import { AppError } from '../errors.ts'
import { ownCommand } from '../runtime/executable.ts'

/** How long a run may take, in seconds. The checks have shorter limits. */
const LIMIT_S = 60
const limited = () => AbortSignal.timeout(LIMIT_S * 1000)

const Output = v.pipe(v.string(), v.parseJson(), DoctorReport)

const hasGroups = process.platform !== 'win32'

/** Kills a process, and on POSIX systems all processes that it started. */
function kill(child: ChildProcess): void {
  try {
    if (hasGroups && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    else child.kill('SIGKILL')
  } catch (error) {
    // It has just ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Returns the report if there are no findings. */
const unfinished = (found: string): DoctorReport => ({
  ok: false,
  checks: [{ state: 'fail', name: 'doctor', found, remedy: 'countersignd doctor' }],
})

/**
 * Returns a function that returns the findings. Calls during a run share it.
 * @param of `stopping` is aborted when the daemon stops; `command` starts the program; `limit`
 *   returns a signal that ends a run
 */
export function newDoctorRuns(of: {
  readonly stateDir: string
  readonly stopping: AbortSignal
  readonly command?: readonly [program: string, ...words: string[]]
  readonly limit?: () => AbortSignal
}): () => Promise<DoctorReport> {
  const { stateDir, stopping, command = ownCommand(), limit = limited } = of
  const [program, ...words] = command
  let running: Promise<DoctorReport> | null = null

  const requireRunning = () => {
    if (stopping.aborted) throw new AppError('shutting_down', 'The daemon is shutting down.')
  }

  async function run(): Promise<DoctorReport> {
    requireRunning()
    const child = spawn(program, [...words, 'doctor', '--json'], {
      env: { ...process.env, SVC_STATE_DIR: stateDir },
      stdio: ['ignore', 'pipe', 'ignore'],
      // Also makes a process group.
      detached: hasGroups,
      windowsHide: true,
    })
    const signal = AbortSignal.any([stopping, limit()])
    const end = () => kill(child)
    signal.addEventListener('abort', end)
    try {
      const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
      requireRunning()
      if (signal.aborted) return unfinished(`the checks took longer than ${LIMIT_S} seconds`)
      const { success, output: report } = v.safeParse(Output, output)
      return success ? report : unfinished(`the checks ended with exit code ${code}`)
    } catch (error) {
      if (error instanceof AppError) throw error
      return unfinished(`the checks could not be started: ${(error as Error).message}`)
    } finally {
      signal.removeEventListener('abort', end)
    }
  }

  return () =>
    (running ??= run().finally(() => {
      running = null
    }))
}
