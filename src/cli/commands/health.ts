/**
 * `health`: whether the daemon answers as itself, for service managers and monitors. It needs no token, opens no state, and loads
 * little: it is run at every start of a service.
 */
import { EXIT } from '../../errors.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import { answering, ended } from '../daemon-health.ts'

const LONGEST_S = 3600
/** The greatest id that Linux gives to a process; Windows and macOS stay below it too. */
const GREATEST_PID = 2 ** 22

/** A whole number within bounds; null where the option is not given. */
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
Asks whether the daemon answers and proves to be itself. Needs no token and changes nothing. The exit code is 0 where it does,
else 9.

  --wait   wait up to so many seconds until it does
  --pid    with --wait: give up as soon as this process has ended, as a unit file says with $MAINPID`,
  options: { wait: { type: 'string' }, pid: { type: 'string' } },
  args: [0, 0],
  async run(invocation) {
    const { config, print, io, json } = invocation
    const seconds = numberOf(invocation, 'wait', [0, LONGEST_S]) ?? 0
    const patience = { waitMs: seconds * 1000, pid: numberOf(invocation, 'pid', [1, GREATEST_PID]) }
    try {
      const found = await answering(config(), patience)
      const healthy = 'address' in found
      const address = healthy ? found.address : null
      if (healthy || json) print({ healthy, address }, `The daemon answers at ${address}.`)
      else io.stderr.write(`countersignd: ${found.silent.message}\n`)
      return healthy ? EXIT.ok : EXIT.daemonSilent
    } catch (error) {
      // The daemon ends of the same fault, and its exit code is the one that a service manager goes by.
      await ended(patience)
      throw error
    }
  },
}
