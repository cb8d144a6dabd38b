/**
 * Checks by the answer of the account server: that it answers, that the configured URL is its
 * public one, and the clock of this machine, also against the highest window checked here.
 */
import { PERIOD_S, windowOf } from '../../crypto/code.ts'
import type { DoctorCheck, DoctorContext } from './check.ts'
import { durationText, fail, type Finding, ok, shellWord, warn } from './finding.ts'

const NAME = 'account server'

/**
 * Returns the remedy. The errors name their own; this command lets the operator see the answer.
 */
const seen = (url: string) => `Try it by hand: curl -sS ${url}/health`

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
            ? 'embedded: the daemon carries it'
            : 'embedded: it starts with the daemon',
        ),
      ]
    }
    const look = await asked()
    if (!look.reached) return [fail(NAME, look.why, seen(url))]
    const own = URL.parse(look.publicUrl)?.origin
    if (own !== url)
      return [
        fail(
          NAME,
          `${url} reports the public address ${own ?? 'none'}, and takes no sign-in at another`,
          own === undefined
            ? 'Its operator must set SVC_PUBLIC_URL.'
            : `export SVC_BACKEND_URL=${shellWord(own)} (or its operator must set SVC_PUBLIC_URL)`,
        ),
      ]
    return [ok(NAME, `${url}, version ${look.version}, answered in ${look.tookMs} ms`)]
  },
}

const CLOCK = 'clock'

/**
 * Largest offset in milliseconds at which codes verify (docs/protocol.md, section 2,
 * `clock_uncertain`).
 */
const MOST_MS = 30_000
const NOTABLE_MS = 5000

const SET = 'Have it set by the network: timedatectl set-ntp true'

function wentBack({ memory, now }: DoctorContext): Finding[] {
  const ahead = memory.highestWindow - windowOf(now())
  // A contact with a fast clock makes the next window the highest.
  if (ahead <= 1) return []
  return [
    fail(
      CLOCK,
      `it has gone back: words were checked here ${durationText(ahead * PERIOD_S * 1000)} later than it shows, and nothing verifies until then`,
      SET,
    ),
  ]
}

async function offset({ config, server }: DoctorContext): Promise<Finding[]> {
  if (config.backendUrl === undefined) return []
  if (server === null) return [ok(CLOCK, 'the account server is in this process, and has the same')]
  const { offsetMs } = await server()
  if (offsetMs === null)
    return [
      warn(
        CLOCK,
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
    return [fail(CLOCK, `${found}: beyond ${MOST_MS / 1000} seconds nothing verifies`, SET)]
  return [off > NOTABLE_MS ? warn(CLOCK, found, SET) : ok(CLOCK, found)]
}

/**
 * Checks the clock against the account server’s and against the highest window checked here.
 * Codes change with each minute of the clock.
 */
export const clockCheck: DoctorCheck = {
  name: CLOCK,
  run: async (ground) => [...(await offset(ground)), ...wentBack(ground)],
}
