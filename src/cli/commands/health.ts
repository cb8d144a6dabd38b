/**
 * `health`: checks whether the daemon proves its identity, for service managers and monitors.
 *
 * The command needs no token, opens no state and loads few modules, because it runs at every start
 * of a service.
 */
import type { Config } from '../../config/config.ts'
import { EXIT, StartError } from '../../errors.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { placesText } from '../../storage/runtime-file.ts'
import type { DaemonConnection } from '../daemon-connection.ts'
import { daemonAt } from '../lock-owner.ts'
import { readyServer } from '../server-health.ts'
import { isForSystem } from '../system-instance.ts'

const PAUSE_MS = 100

/** Where the daemon answers, or the reason why no daemon proved its identity. */
type Answering = { readonly run: DaemonConnection['run'] } | { readonly silent: StartError }

interface HealthPatience {
  /** How long to wait for the daemon, in milliseconds. */
  readonly waitMs: number
  /**
   * The process that becomes the daemon; null for any process.
   *
   * When this process has ended, the command stops waiting.
   */
  readonly pid: number | null
}

const noneAt = (stateDir: string, cause: StartError) =>
  new StartError(
    'daemonSilent',
    `No daemon for the state folder ${stateDir} answers. Start it with "countersignd serve", or check its log.`,
    cause,
  )

async function ask(config: Config): Promise<Answering> {
  try {
    const daemon = await daemonAt(config, null)
    daemon.close()
    return { run: daemon.run }
  } catch (error) {
    if (!(error instanceof StartError) || error.exit !== EXIT.daemonSilent) throw error
    return { silent: isForSystem(config) ? error : noneAt(config.stateDir, error) }
  }
}

/** Returns whether a process exists, even if another user owns it. */
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
    // The process is checked before the attempt. If it has ended, the last attempt can therefore
    // find everything that it did before.
    const over = performance.now() >= end || (pid !== null && !isAlive(pid))
    const { done, last } = await attempt()
    if (done || over) return last
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/**
 * Requests the daemon's proof until it is valid or the time is over.
 * @throws StartError if no daemon may be asked, because the folder is unsafe or another user may
 * have planted the service
 */
const awaitHealth = (config: Config, patience: HealthPatience): Promise<Answering> =>
  until(patience, async () => {
    const last = await ask(config)
    return { done: 'run' in last, last }
  })

/** Waits until the process has ended. Returns immediately if there is no process to wait for. */
const ended = async (patience: HealthPatience): Promise<void> =>
  patience.pid === null
    ? undefined
    : until(patience, async () => ({ done: false, last: undefined }))

const LONGEST_S = 3600
/** The maximum process id of Linux. Process ids of Windows and macOS are also below it. */
const GREATEST_PID = 2 ** 22

/**
 * Returns an option as a whole number from `least` to `most`; null if the option is absent.
 * @throws UsageError
 */
function numberOf(
  { options }: Invocation,
  name: string,
  [least, most]: readonly [number, number],
): number | null {
  const given = options[name]
  if (given === undefined) return null
  const value = /^\d{1,10}$/.test(String(given)) ? Number(given) : NaN
  if (value >= least && value <= most) return value
  throw new UsageError(`--${name} must be a whole number from ${least} to ${most}.`)
}

export const healthCommand: Command = {
  usage: '[--wait SECONDS] [--pid PID] [--json] | --server [--json]',
  help: `
Checks that the daemon answers and proves its identity. The command needs no token and changes nothing. The exit
code is 0 if the daemon answers, otherwise 9.

  --wait SECONDS   wait until the daemon answers, at most for this number of seconds
  --pid PID        with --wait: stop waiting when this process has ended (in a systemd unit file: $MAINPID)
  --server         instead, check that the account server of the same settings ("countersignd server") answers and
                   has its database, for example in a container`,
  options: { wait: { type: 'string' }, pid: { type: 'string' }, server: { type: 'boolean' } },
  args: [0, 0],
  check({ options }) {
    if (options['server'] === true && (options['wait'] ?? options['pid']) !== undefined)
      throw new UsageError('--server checks once: leave out --wait and --pid.')
  },
  async run(invocation) {
    const { config, print, io, json, options } = invocation
    if (options['server'] === true) {
      const address = await readyServer(config())
      print({ healthy: true, address }, `The account server at ${address} is ready.`)
      return EXIT.ok
    }
    const seconds = numberOf(invocation, 'wait', [0, LONGEST_S]) ?? 0
    const patience = { waitMs: seconds * 1000, pid: numberOf(invocation, 'pid', [1, GREATEST_PID]) }
    try {
      const found = await awaitHealth(config(), patience)
      if ('run' in found) {
        const { address, socket } = found.run
        const places = placesText(found.run)
        print({ healthy: true, address, socket }, `The daemon answers at ${places}.`)
        return EXIT.ok
      }
      if (json) print({ healthy: false, address: null, socket: null }, [])
      else io.stderr.write(`countersignd: ${found.silent.message}\n`)
      return EXIT.daemonSilent
    } catch (error) {
      // The daemon ends with the same error. Waiting for its end lets the service manager use its
      // exit code.
      await ended(patience)
      throw error
    }
  },
}
