/**
 * Checks the account server and, with its help, the clock of this machine.
 *
 * The server must answer, and its public URL must be the configured one. The clock is compared with
 * the server's clock, and with the highest window in which words were checked here.
 */
import { PERIOD_S, windowOf } from '../../crypto/code.ts'
import type { DoctorCheck, DoctorContext } from './check.ts'
import { durationText, fail, type Finding, ok, shellWord, warn } from './finding.ts'

const NAME = 'account server'

/** Returns a remedy: a command with which the operator sees the answer of the server. */
const seen = (url: string) => `Check the answer yourself: curl -sS ${url}/health`

const COMPARES = warn(
  'changes',
  'the database of the account server delivers no messages about changes, so the server looks for changes once a second',
  'The operator of the account server must let it connect to PostgreSQL directly, or through a pooler in session mode.',
)

export const serverCheck: DoctorCheck = {
  name: NAME,
  async run({ config, server: asked, holding }: DoctorContext) {
    const { backendUrl: url } = config
    if (url === undefined) return []
    if (url === null || asked === null) {
      const { state } = await holding()
      return [
        ok(
          NAME,
          state === 'proven'
            ? 'embedded in the running daemon'
            : 'embedded; it starts with the daemon',
        ),
      ]
    }
    const answer = await asked()
    if (!answer.reached) return [fail(NAME, answer.why, seen(url))]
    const own = URL.parse(answer.publicUrl)?.origin
    if (own !== url)
      return [
        fail(
          NAME,
          `${url} reports ${own === undefined ? 'no public address' : `the public address ${own}`}, and accepts sign-ins only at its public address`,
          own === undefined
            ? 'The operator of the account server must set SVC_PUBLIC_URL.'
            : `export SVC_BACKEND_URL=${shellWord(own)} (or the operator of the account server must set SVC_PUBLIC_URL)`,
        ),
      ]
    return [
      ok(NAME, `${url}, version ${answer.version}, answered in ${answer.tookMs} ms`),
      ...(answer.hintsBy === 'comparison' ? [COMPARES] : []),
    ]
  },
}

const CLOCK = 'clock'

/**
 * The maximum offset in milliseconds at which codes verify.
 * @see docs/protocol.md, section 2, `clock_uncertain`
 */
const MOST_MS = 30_000
const NOTABLE_MS = 5000

const SET = 'Set the clock from the network: timedatectl set-ntp true'

function wentBack({ memory, now }: DoctorContext): Finding[] {
  const ahead = memory.highestWindow - windowOf(now())
  // If a contact's clock is fast, the next window can be the highest one, which is no fault.
  if (ahead <= 1) return []
  return [
    fail(
      CLOCK,
      `the clock was set back: this device last checked words at a time ${durationText(ahead * PERIOD_S * 1000)} later than the clock shows, and no words verify until the clock reaches that time`,
      SET,
    ),
  ]
}

async function offset({ config, server }: DoctorContext): Promise<Finding[]> {
  if (config.backendUrl === undefined) return []
  if (server === null) return [ok(CLOCK, 'the account server is embedded and uses the same clock')]
  const { offsetMs } = await server()
  if (offsetMs === null)
    return [
      warn(
        CLOCK,
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
        CLOCK,
        `${found}; no words verify if the difference is more than ${MOST_MS / 1000} seconds`,
        SET,
      ),
    ]
  return [off > NOTABLE_MS ? warn(CLOCK, found, SET) : ok(CLOCK, found)]
}

export const clockCheck: DoctorCheck = {
  name: CLOCK,
  run: async (ground) => [...(await offset(ground)), ...wentBack(ground)],
}
