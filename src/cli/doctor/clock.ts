/**
 * Checks the clock against the account server’s and against the highest window checked here.
 * Codes change with each minute of the clock.
 */
import { PERIOD_S, windowOf } from '../../crypto/code.ts'
import { type Finding, fail, ok, durationText, warn } from './finding.ts'
import { type DoctorCheck, type DoctorContext } from './check.ts'

const NAME = 'clock'

/**
 * Largest offset in milliseconds at which codes verify (docs/protocol.md, section 2,
 * `clock_uncertain`).
 */
const MOST_MS = 30_000
const NOTABLE_MS = 5000

const SET = 'Set the clock from the network: timedatectl set-ntp true'

function wentBack({ memory, now }: DoctorContext): Finding[] {
  const ahead = memory.highestWindow - windowOf(now())
  // A contact with a fast clock makes the next window the highest.
  if (ahead <= 1) return []
  return [
    fail(
      NAME,
      `it was set back: words were checked here ${durationText(ahead * PERIOD_S * 1000)} later than it shows, and no words verify until it reaches that time`,
      SET,
    ),
  ]
}

async function offset({ config, server }: DoctorContext): Promise<Finding[]> {
  if (config.backendUrl === undefined) return []
  if (server === null) return [ok(NAME, 'the account server is embedded and uses the same clock')]
  const { offsetMs } = await server()
  if (offsetMs === null)
    return [
      warn(
        NAME,
        'unknown: the account server did not send its time',
        'See the line about the account server.',
      ),
    ]
  const off = Math.abs(offsetMs)
  const found =
    off < 1000
      ? 'less than a second off the clock of the account server'
      : `${durationText(off)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the clock of the account server`
  if (off > MOST_MS)
    return [
      fail(
        NAME,
        `${found}; no words verify if the difference is more than ${MOST_MS / 1000} seconds`,
        SET,
      ),
    ]
  return [off > NOTABLE_MS ? warn(NAME, found, SET) : ok(NAME, found)]
}

export const clockCheck: DoctorCheck = {
  name: NAME,
  run: async (ground) => [...(await offset(ground)), ...wentBack(ground)],
}
