/**
 * Checks the clock against the account server's clock, and against words checked earlier.
 *
 * The clock must be right because codes change every minute.
 */
import { PERIOD_S, windowOf } from '../../crypto/code.ts'
import { type Finding, fail, ok, durationText, warn } from './finding.ts'
import { type DoctorCheck, type DoctorContext } from './check.ts'

const NAME = 'clock'

/**
 * The maximum offset in milliseconds at which codes verify.
 * @see docs/protocol.md, section 2, `clock_uncertain`
 */
const MOST_MS = 30_000
const NOTABLE_MS = 5000

const SET = 'Have it set by the network: timedatectl set-ntp true'

function wentBack({ memory, now }: DoctorContext): Finding[] {
  const ahead = memory.highestWindow - windowOf(now())
  // If a contact's clock is fast, the next window can be the highest one, which is no fault.
  if (ahead <= 1) return []
  return [
    fail(
      NAME,
      `it has gone back: words were checked here ${durationText(ahead * PERIOD_S * 1000)} later than it shows, and nothing verifies until then`,
      SET,
    ),
  ]
}

async function offset({ config, server }: DoctorContext): Promise<Finding[]> {
  if (config.backendUrl === undefined) return []
  if (server === null) return [ok(NAME, 'the account server is in this process, and has the same')]
  const { offsetMs } = await server()
  if (offsetMs === null)
    return [
      warn(
        NAME,
        'unknown: the account server did not send its time',
        'See the finding about the account server.',
      ),
    ]
  const off = Math.abs(offsetMs)
  const found =
    off < 1000
      ? 'less than a second off the account server’s'
      : `${durationText(off)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the account server’s`
  if (off > MOST_MS)
    return [fail(NAME, `${found}: beyond ${MOST_MS / 1000} seconds nothing verifies`, SET)]
  return [off > NOTABLE_MS ? warn(NAME, found, SET) : ok(NAME, found)]
}

export const clockCheck: DoctorCheck = {
  name: NAME,
  run: async (ground) => [...(await offset(ground)), ...wentBack(ground)],
}
