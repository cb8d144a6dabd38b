/** Checks that the account server answers, and that its public URL is the configured one. */
import { fail, ok, shellWord } from './finding.ts'
import { type DoctorCheck, type DoctorContext } from './check.ts'

const NAME = 'account server'

/** Returns a remedy: a command with which the operator sees the answer of the server. */
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
