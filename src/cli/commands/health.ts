/**
 * `health`: checks whether the daemon proves itself, for service managers and monitors.
 * It needs no token, opens no state and loads few modules, because it runs at every start of a
 * service.
 */
import { EXIT } from '../../errors.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { awaitHealth, ended } from '../daemon-health.ts'

const LONGEST_S = 3600
/** The largest process id of Linux. Those of Windows and macOS are also below it. */
const GREATEST_PID = 2 ** 22

/**
 * Returns an option as a whole number within bounds; null if the option is absent.
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
  throw new UsageError(`--${name} takes a whole number from ${least} to ${most}.`)
}

export const healthCommand: Command = {
  usage: '[--wait SECONDS] [--pid PID] [--json]',
  help: `
Checks that the daemon responds and proves its identity. Needs no token and changes nothing. The exit code is 0 if it does,
else 9.

  --wait   wait up to so many seconds until it does
  --pid    with --wait: stop waiting when this process has ended; a unit file gives $MAINPID`,
  options: { wait: { type: 'string' }, pid: { type: 'string' } },
  args: [0, 0],
  async run(invocation) {
    const { config, print, io, json } = invocation
    const seconds = numberOf(invocation, 'wait', [0, LONGEST_S]) ?? 0
    const patience = { waitMs: seconds * 1000, pid: numberOf(invocation, 'pid', [1, GREATEST_PID]) }
    try {
      const found = await awaitHealth(config(), patience)
      const healthy = 'address' in found
      const address = healthy ? found.address : null
      if (healthy || json) print({ healthy, address }, `The daemon answers at ${address}.`)
      else io.stderr.write(`countersignd: ${found.silent.message}\n`)
      return healthy ? EXIT.ok : EXIT.daemonSilent
    } catch (error) {
      // The daemon ends with the same error. Waiting for it lets the service manager use its exit
      // code.
      await ended(patience)
      throw error
    }
  },
}
